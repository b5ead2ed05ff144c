"""Spans are on record where something happened in them, or a second thread was in one too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo import compiled_autograd
from torch._inductor import hooks as inductor_hooks
from torch._library import fake_impl
from torch.fx import _lazy_graph_module, traceback
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from fxrace.core.borrowing import unordered
from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.launch.record_file import read_trace
from fxrace.probe.attach import attached
from fxrace.probe.spans import Spans
from fxrace.probe.states import record_leaks, snapshot
from fxrace.records.finding import Tier
from fxrace.records.outcome import Ending, Stop
from fxrace.records.trial import Trial
from tests.unit.probe.recording import BOUND_S, Recording, Side

TRIAL = Trial(target="t:run", knobs={"pressure": "none"})
ENDING = Ending(stop=Stop.EXITED, code=0, duration_s=1.0, overhead_s=0.0)


class Mode(TorchDispatchMode):
    """The user's own."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


BLOCKS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "dispatch_mode": Mode,
    "annotate": lambda: traceback.annotate({"a": 1}),
    "preserve_meta": traceback.preserve_node_meta,
    "skip_lazy": _lazy_graph_module._force_skip_lazy_graph_module,
    "fake": lambda: fake_impl.set_ctx_getter(lambda: None),
    "intermediate_hooks": lambda: inductor_hooks.intermediate_hook(lambda *_: None),
    "compiled_autograd": compiled_autograd._disable,
}
if hasattr(torch.compiler, "_non_strict_tracing_context"):  # since torch 2.12
    BLOCKS["non_strict"] = torch.compiler._non_strict_tracing_context


@contextmanager
def watched(folder: Path) -> Iterator[Recording]:
    recording = Recording(folder)
    with attached(TRIAL, recording.recorder):
        yield recording


@pytest.mark.parametrize("kind", BLOCKS)
def test_two_threads_in_one_kind_of_block_are_a_race_with_two_stacks(
    tmp_path: Path, kind: str
) -> None:
    inside, leave = threading.Event(), threading.Event()

    def first_side() -> None:
        with BLOCKS[kind]():
            inside.set()
            assert leave.wait(BOUND_S)

    with watched(tmp_path):
        side = Side(first_side, name="first")
        assert inside.wait(BOUND_S)
        with BLOCKS[kind]():  # nested in time, so that nothing leaks into other tests
            pass
        leave.set()
        side.result()
    (pair,) = unordered(read_trace(tmp_path / "events.jsonl"))
    assert (pair.first.kind, pair.first.thread, pair.second.thread) == (
        kind, "first", threading.current_thread().name,
    )  # fmt: skip
    assert any("first_side" in frame.function for frame in pair.first.stack)
    assert pair.second.stack[-1].function.endswith(
        "test_two_threads_in_one_kind_of_block_are_a_race_with_two_stacks"
    )


def test_a_flag_that_two_modes_left_on_is_named_with_both_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for flag in [name for name in vars(_python_dispatch) if name.startswith("_is_in_")]:
        monkeypatch.setattr(_python_dispatch, flag, False)  # and put back, since the race is real
    inside, leave = threading.Event(), threading.Event()

    def first_side() -> None:
        with Mode():
            inside.set()
            assert leave.wait(BOUND_S)

    before = snapshot()
    with watched(tmp_path) as recording:
        side = Side(first_side, name="first")
        assert inside.wait(BOUND_S)
        with Mode():
            leave.set()
            side.result()
    record_leaks(recording.recorder, before)
    trace = read_trace(tmp_path / "events.jsonl")
    evidence = Evidence(trial=TRIAL, trace=trace, ending=ENDING, reference=None)
    (found,) = (one for one in findings_in(evidence) if one.tier is Tier.LEAK)
    assert found.state == "dispatch.in_mode"
    here = threading.current_thread().name
    assert [(one.thread, bool(one.stack)) for one in found.sides] == [("first", True), (here, True)]


@pytest.mark.parametrize("kind", BLOCKS)
def test_one_thread_leaves_nothing_and_two_after_each_other_neither(
    tmp_path: Path, kind: str
) -> None:
    def enter() -> None:
        with BLOCKS[kind](), BLOCKS[kind]():
            pass

    with watched(tmp_path) as recording:
        enter()
        Side(enter).result()
        with pytest.raises(KeyError), BLOCKS[kind]():
            raise KeyError
    assert recording.of("region") == []


def test_what_happens_inside_puts_the_span_on_record_before_it(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    spans = Spans(recording.recorder, "fake")
    spans.enter("outer")
    spans.enter("inner")
    recording.recorder.emit("note", text="inside")
    spans.leave()
    spans.leave()
    told = [(e.kind, e.data.get("edge"), e.data.get("name")) for e in recording.events()]
    assert told == [
        ("region", "enter", "outer"), ("note", None, None), ("region", "exit", "outer"),
    ]  # fmt: skip


def test_a_block_that_outlives_its_hook_ends_well(tmp_path: Path) -> None:
    block = BLOCKS["annotate"]()
    with watched(tmp_path):
        block.__enter__()
    assert "custom" in traceback.current_meta
    block.__exit__(None, None, None)
    assert "custom" not in traceback.current_meta
