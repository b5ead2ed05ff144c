"""``fxrace.watch`` and ``fxrace.exclusive`` in a running program; edges only where they order."""

from __future__ import annotations

import importlib
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import fxrace
from fxrace.probe.attach import attached
from fxrace.probe.first_import import when_imported
from fxrace.records.event import Event
from fxrace.records.trial import Trial
from tests.unit.probe.recording import BOUND_S, Recording, Side


def test_two_threads_in_exclusive_are_a_finding_and_one_after_the_other_are_not() -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with fxrace.exclusive("loader"):
            inside.set()
            assert leave.wait(BOUND_S)

    with fxrace.watch() as seen:
        side = Side(hold, name="other")
        assert inside.wait(BOUND_S)
        with fxrace.exclusive("loader"), fxrace.exclusive("loader"):
            leave.set()
        side.result()
    (finding,) = [f for f in seen.findings if f.pattern == "exclusive"]
    assert [bool(one.stack) for one in finding.sides] == [True, True]

    with fxrace.watch() as alone:
        with fxrace.exclusive("loader"):
            pass
        Side(hold).result()
    assert alone.findings == ()


def test_exclusive_may_name_a_state() -> None:
    inside, leave = threading.Event(), threading.Event()

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.set()
            assert leave.wait(BOUND_S)
            return x

    with fxrace.watch() as seen:
        side = Side(lambda: torch.fx.symbolic_trace(Model()))
        assert inside.wait(BOUND_S)
        with fxrace.exclusive("fx.patcher"):
            pass
        leave.set()
        side.result()
    assert [f.state for f in seen.findings if f.pattern == "exclusive"] == ["fx.patcher"]


def test_unwatched_exclusive_does_nothing() -> None:
    with fxrace.exclusive("nobody looks"):
        pass


def edges(recording: Recording) -> list[Event]:
    return recording.of("sync")


def trace() -> None:
    torch.fx.symbolic_trace(torch.nn.ReLU())


def test_a_hand_over_after_a_region_is_an_edge_and_others_cost_nothing(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    handed: queue.Queue[int] = queue.Queue()
    with attached(Trial(target="t:run", knobs={}), recording.recorder):

        def give() -> None:
            trace()
            for number in range(1000):
                handed.put(number)

        thread = threading.Thread(target=give, name="giver")
        thread.start()
        for _ in range(1000):
            handed.get(timeout=BOUND_S)
        thread.join(BOUND_S)
    through = [(e.data["edge"], e.data["what"]) for e in edges(recording)]
    assert ("release", "queue") in through
    assert ("acquire", "queue") in through
    assert ("acquire", "thread") in through
    assert len(through) < 10, "only what orders something is recorded"


@pytest.mark.parametrize("what", ["executor", "future", "event", "barrier"])
def test_each_way_to_hand_over(tmp_path: Path, what: str) -> None:
    recording = Recording(tmp_path)
    event, barrier = threading.Event(), threading.Barrier(2)

    def work() -> None:
        assert event.wait(BOUND_S)
        trace()
        barrier.wait(BOUND_S)

    with attached(Trial(target="t:run", knobs={}), recording.recorder):
        trace()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            event.set()
            barrier.wait(BOUND_S)
            future.result(BOUND_S)
    found = {e.data["edge"] for e in edges(recording) if e.data["what"] == what}
    assert found == {"release", "acquire"}


def test_the_standard_library_is_as_it_was(tmp_path: Path) -> None:
    before = (threading.Thread.start, queue.Queue.put, threading.Event.wait)
    with attached(Trial(target="t:run", knobs={}), Recording(tmp_path).recorder):
        assert threading.Thread.start is not before[0]
    assert (threading.Thread.start, queue.Queue.put, threading.Event.wait) == before


def test_an_action_follows_the_first_import_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "just_written.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[int] = []
    when_imported("just_written", lambda: seen.append(sys.modules["just_written"].value))
    assert seen == []
    importlib.import_module("just_written")
    importlib.reload(sys.modules.pop("just_written") and importlib.import_module("just_written"))
    when_imported("just_written", lambda: seen.append(2))
    assert seen == [1, 2]
