"""On a GPU: what Triton compiles and CUDA graphs record is a region, and what is warm is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from fxrace.core.clocks import clocks_of
from fxrace.launch.record_file import read_trace
from fxrace.probe.attach import attached
from fxrace.records.event import Event
from fxrace.records.trial import Trial
from tests.unit.probe.recording import Recording, Side

pytestmark = pytest.mark.gpu

TRIAL = Trial(target="t:run", knobs={"pressure": "none"})
WARM = 50


@contextmanager
def watched(folder: Path) -> Iterator[Recording]:
    torch._dynamo.reset()
    recording = Recording(folder)
    settings = {"compile_threads": 1, "force_disable_caches": True}
    with torch._inductor.config.patch(settings), attached(TRIAL, recording.recorder):
        yield recording


def entered(recording: Recording, kind: str) -> list[Event]:
    enters = (e for e in recording.of("region") if e.data["edge"] == "enter")
    return [event for event in enters if event.data["region"] == kind]


def events_of(recording: Recording, warm: Callable[[], Any]) -> int:
    """How many events a number of warm runs leave."""
    before = len(recording.events())
    for _ in range(WARM):
        warm()
    torch.cuda.synchronize()
    return len(recording.events()) - before


def test_every_family_attaches_on_this_machine(tmp_path: Path) -> None:
    with watched(tmp_path) as recording:
        assert recording.of("blind") == []
        absent = {event.data["what"] for event in recording.of("absent")}
    assert not absent & {"hooks cudagraph_trees", "hooks triton_jit", "hooks triton_autotune"}


def test_a_kernel_of_inductor_is_compiled_in_a_region_and_launched_in_none(tmp_path: Path) -> None:
    x = torch.randn(4096, device="cuda")
    with watched(tmp_path) as recording:
        compiled = torch.compile(lambda y: (y.sin() * y.cos()).exp() + 1)
        compiled(x)
        assert entered(recording, "inductor")
        assert entered(recording, "triton")
        assert events_of(recording, lambda: compiled(x)) == 0


def test_a_users_kernel_is_compiled_in_a_region_and_launched_in_none(tmp_path: Path) -> None:
    from tests.unit.probe.doubling_kernel import doubled

    x = torch.randn(1000, device="cuda")
    with watched(tmp_path) as recording:
        assert torch.equal(doubled(x), x * 2)
        (compile_,) = entered(recording, "triton")
        assert any("doubled" in frame[2] for frame in compile_.data["frames"])
        assert events_of(recording, lambda: doubled(x)) == 0


def test_a_graph_is_recorded_in_a_region_and_replayed_in_none(tmp_path: Path) -> None:
    x = torch.randn(64, 64, device="cuda")
    with watched(tmp_path) as recording, torch.no_grad():
        compiled = torch.compile(lambda y: (y @ y).relu() + 1, mode="reduce-overhead")

        def call() -> Any:
            torch.compiler.cudagraph_mark_step_begin()
            return compiled(x).sum().item()

        results = {call() for _ in range(4)}
        names = [event.data["name"] for event in entered(recording, "cudagraph")]
        assert {"run_eager", "record_function"} <= set(names)
        assert all(event.data["frames"] for event in entered(recording, "cudagraph"))
        assert events_of(recording, call) == 0
    assert len(results) == 1


class Tracing(torch.autograd.Function):
    """Traces in its backward, which on CUDA runs on a thread of autograd."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        torch.fx.symbolic_trace(torch.nn.ReLU())
        return grad * 2


def test_what_the_device_thread_traces_lies_between_what_its_caller_traces(tmp_path: Path) -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)

    def step() -> None:
        torch.fx.symbolic_trace(torch.nn.ReLU())
        Tracing.apply(x).sum().backward()
        torch.fx.symbolic_trace(torch.nn.ReLU())

    with watched(tmp_path):
        Side(step).result()
    trace = read_trace(tmp_path / "events.jsonl")
    clocks = clocks_of(trace)
    traces = [i for i, e in enumerate(trace.events) if e.data.get("region") == "trace"]
    assert len({trace.events[i].ident for i in traces}) == 2
    assert all(clocks.before(a, b) for a, b in pairwise(traces))


def test_a_warm_training_step_on_a_gpu_leaves_no_event(tmp_path: Path) -> None:
    model = torch.nn.Linear(16, 16).cuda()
    x = torch.ones(4, 16, device="cuda")
    with watched(tmp_path) as recording:
        compiled = torch.compile(model)

        def step() -> None:
            compiled(x).sum().backward()

        step()
        step()
        assert events_of(recording, step) == 0
