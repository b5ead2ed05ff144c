"""Which thread works for whose backward; and that a warm training step leaves no event at all."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from fxrace.core.clocks import clocks_of
from fxrace.launch.record_file import read_trace
from fxrace.probe.attach import attached
from fxrace.probe.hooks import backward
from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.probe.watching import Watching
from fxrace.records.trial import Trial
from tests.unit.probe.recording import BOUND_S, Recording, Side

TRIAL = Trial(target="t:run", knobs={"pressure": "none"})
#: Beyond so many reentrant calls the engine goes on in a thread of its pool, on a CPU as well.
DEEP = 63


def nested(x: torch.Tensor, depth: int) -> torch.Tensor:
    if not depth:
        return x * 1.01
    return checkpoint(lambda y: nested(y, depth - 1) + 1, x, use_reentrant=True)


def deep() -> None:
    nested(torch.ones(2, requires_grad=True), DEEP).sum().backward()


def test_a_thread_of_the_engine_says_whose_backward_it_works_for(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with attached(TRIAL, recording.recorder):
        deep()
    sync, main = recording.of("sync"), threading.get_ident()
    foreign = [event for event in sync if event.ident != main]
    assert foreign[0].data["edge"] == "acquire"
    key = foreign[0].data["key"]
    released = next(event for event in sync if event.data["key"] == key)
    assert (released.data["edge"], released.ident) == ("release", main)
    assert released.thread == threading.current_thread().name
    back = [event for event in sync if event.data["key"] == f"{key}:return"]
    assert [(e.data["edge"], e.ident == main) for e in (back[0], back[-1])] == [
        ("release", False), ("acquire", True),
    ]  # fmt: skip


def test_two_calls_at_once_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is tied to its task, since the first is under way without a tie."""
    inside, leave = threading.Event(), threading.Event()

    def stand(grad: torch.Tensor) -> None:
        inside.set()
        assert leave.wait(BOUND_S)

    def first() -> None:
        y = torch.ones(2, requires_grad=True).sin()
        y.register_hook(stand)
        torch.autograd.backward(y.sum())

    recording = Recording(tmp_path)
    monkeypatch.setattr(backward, "_device_threads", lambda _: lambda: True)
    with attached(TRIAL, recording.recorder):
        side = Side(first, name="first")
        assert inside.wait(BOUND_S)
        deep()
        leave.set()
        side.result()
    sync = recording.of("sync")
    caller = {e.data["key"]: e.thread for e in sync if e.data["edge"] == "release"}
    taken = [e for e in sync if e.data["edge"] == "acquire" and e.data["what"] == "backward"]
    fed = [caller[e.data["key"]] for e in taken if not e.data["key"].endswith(":return")]
    assert threading.current_thread().name in fed
    assert "first" not in fed


def test_all_that_the_caller_did_before_comes_before_what_the_engines_thread_does(
    tmp_path: Path,
) -> None:
    recording = Recording(tmp_path)
    with attached(TRIAL, recording.recorder):
        torch.fx.symbolic_trace(torch.nn.ReLU())
        deep()
        torch.fx.symbolic_trace(torch.nn.ReLU())
    trace, main = read_trace(tmp_path / "events.jsonl"), threading.get_ident()
    clocks = clocks_of(trace)
    traces = [i for i, e in enumerate(trace.events) if e.data.get("region") == "trace"]
    theirs = [i for i, e in enumerate(trace.events) if e.kind == "region" and e.ident != main]
    assert theirs
    assert all(clocks.before(traces[1], i) and clocks.before(i, traces[2]) for i in theirs)


def joined(recorder: Recorder, caller: int) -> None:
    """What a thread of the engine does, twice to be sure."""
    recorder.pay(caller)
    recorder.pay(caller)
    recorder.emit("note", text="joined")


def test_a_release_that_is_owed_stands_before_the_callers_next_event(tmp_path: Path) -> None:
    """What the caller does while the engine works is not before what the engine's thread does."""
    recording = Recording(tmp_path)
    recorder = recording.recorder
    owed = recorder.owe("sync", edge="release", key="backward:1", what="backward")
    me = threading.get_ident()
    recorder.emit("note", text="meanwhile")
    Side(lambda: joined(recorder, me)).result()
    recorder.forgive(owed)
    kinds = [(event.kind, event.ident == me) for event in recording.events()]
    assert kinds == [("sync", True), ("note", True), ("note", False)]


def test_a_debt_is_paid_once_by_whoever_comes_first_and_forgiven_else(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recorder, me = recording.recorder, threading.get_ident()
    outer, inner = recorder.owe("note", text="outer"), recorder.owe("note", text="inner")
    Side(lambda: joined(recorder, me)).result()
    recorder.forgive(inner)
    recorder.forgive(recorder.owe("note", text="forgiven"))
    recorder.forgive(outer)
    recorder.emit("note", text="next")
    told = [(event.data["text"], event.ident == me) for event in recording.events()]
    assert told == [("outer", True), ("inner", True), ("joined", False), ("next", True)]


def calls_into_fxrace(folder: Path, *, steps: int) -> tuple[int, int]:
    """Events and calls into our files of warm training steps."""
    model, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    recording, calls = Recording(folder), 0

    def profile(frame: FrameType, what: str, _: object) -> None:
        nonlocal calls
        calls += what == "call" and "/fxrace/" in frame.f_code.co_filename

    with attached(TRIAL, recording.recorder):
        compiled = torch.compile(model, backend="aot_eager")
        for step in range(steps + 2):
            if step == 2:
                before = len(recording.events())
                sys.setprofile(profile)
            optimizer.zero_grad()
            compiled(x).sum().backward()
            optimizer.step()
        sys.setprofile(None)
        return len(recording.events()) - before, calls


def test_a_warm_training_step_leaves_no_event(tmp_path: Path) -> None:
    events, calls = calls_into_fxrace(tmp_path, steps=50)
    assert events == 0
    # The entry, whether a device is in use, and the flag's reader of the compiled call.
    assert calls <= 50 * 3


def test_a_warm_step_with_an_accelerator_in_use_leaves_no_event_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backward, "_device_threads", lambda _: lambda: True)
    events, calls = calls_into_fxrace(tmp_path, steps=50)
    assert events == 0
    assert calls > 50 * 3


def test_what_runs_in_backward_is_within_and_what_follows_is_not(tmp_path: Path) -> None:
    recording, pressure = Recording(tmp_path), NoPressure()
    regions = Regions(recording.recorder, pressure)
    detach = backward.attach(
        Watching(recorder=recording.recorder, regions=regions, pressure=pressure)
    )
    seen: list[bool] = []
    y = torch.ones(2, requires_grad=True).sin().sum()
    y.register_hook(lambda _: seen.append(regions.within()))
    try:
        y.backward()
        with pytest.raises(RuntimeError):
            y.backward()
    finally:
        detach()
    assert (seen[0], regions.within()) == (True, False)
    assert recording.events() == ()
