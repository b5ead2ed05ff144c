"""Hooks see what they are for, cost nothing on a warm call, and leave torch as it was."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
import torch
import torch._dynamo.convert_frame as convert
import torch._inductor.cudagraph_trees  # its hook family waits for it
import torch.export
from torch._dynamo import decorators
from torch._functorch import aot_autograd
from torch._functorch._aot_autograd import runtime_wrappers
from torch._higher_order_ops import utils as higher_order
from torch._inductor import compile_fx
from torch.autograd import graph
from torch.export import _trace as export_trace
from torch.fx import _symbolic_trace as fx
from torch.fx.experimental import proxy_tensor
from torch.nn.attention import flex_attention as flex
from torch.utils import _config_module
from torch.utils import checkpoint as checkpointing

from fxrace.probe import attach
from fxrace.probe.attach import attached, families
from fxrace.probe.hooks import Absent, Blind, compiled_calls
from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.regions import Regions
from fxrace.probe.watching import Watching
from fxrace.records.trial import Trial
from tests.unit.probe.recording import Recording

PLACES = (
    (fx.Tracer, "trace"), (fx, "_new_patcher"), (convert, "_compile"), (convert, "compile_lock"),
    (proxy_tensor._MakefxTracer, "trace"), (runtime_wrappers, "track_graph_compiling"),
    (aot_autograd, "create_aot_state"), (aot_autograd, "aot_stage1_graph_capture"),
    (compile_fx, "compile_fx"), (compile_fx, "fx_codegen_and_compile"),
    (checkpointing.CheckpointFunction, "forward"), (checkpointing.CheckpointFunction, "backward"),
    (checkpointing._CheckpointFrame, "__init__"), (graph, "_engine_run_backward"),
    (torch.autograd, "_engine_run_backward"), (decorators.set_stance, "__enter__"),
    (decorators.set_stance, "__exit__"), (_config_module.ConfigModule, "patch"),
    (_config_module.ConfigModule, "__setattr__"),
    (checkpointing._CheckpointFrame, "check_recomputed_tensors_match"),
    (export_trace, "_export"), (torch.export, "save"), (torch.export, "load"),
    (flex, "setup_compilation_env"),
)  # fmt: skip
SPANS = {"dispatch_mode", "preserve_meta", "annotate", "compiled_autograd", "fake"}
READER = fx.is_fx_symbolic_tracing
ENVIRONMENT = higher_order._set_compilation_env.__wrapped__


def touched() -> list[object]:
    places = [vars(holder)[name] for holder, name in PLACES]
    return [*places, READER, READER.__code__, ENVIRONMENT, ENVIRONMENT.__code__]


def trial(pressure: str = "none") -> Trial:
    return Trial(target="t:run", knobs={"pressure": pressure})


@contextmanager
def watched(folder: Path) -> Iterator[Recording]:
    recording = Recording(folder)
    with attached(trial(), recording.recorder):
        yield recording


def entered(recording: Recording, edge: str = "enter") -> list[str]:
    """Kinds of region, without the spans (see ``fxrace.probe.spans``) that they put on record."""
    told = (e.data["region"] for e in recording.of("region") if e.data["edge"] == edge)
    return [kind for kind in told if kind not in SPANS]


@pytest.mark.parametrize("pressure", ["none", "jitter", "hold"])
def test_torch_is_exactly_as_it_was_also_after_an_error(tmp_path: Path, pressure: str) -> None:
    before = touched()
    with pytest.raises(ZeroDivisionError), attached(trial(pressure), Recording(tmp_path).recorder):
        changed = sum(now is not was for now, was in zip(touched(), before, strict=True))
        assert changed >= len(PLACES) + 1
        raise ZeroDivisionError
    assert all(now is was for now, was in zip(touched(), before, strict=True))


def test_every_family_attaches_or_is_absent_here(tmp_path: Path) -> None:
    with watched(tmp_path) as recording:
        assert recording.of("blind") == []
        absent = {event.data["what"] for event in recording.of("absent")}
    assert ("hooks cudagraph_trees" in absent) is not torch.backends.cuda.is_built()
    assert absent <= {"hooks cudagraph_trees", "hooks fx_flag", "hooks triton_autotune"}
    assert all(family.KNOWN for family in families().values())


@pytest.mark.parametrize(
    ("error", "kinds"),
    [(Blind("no place"), ["blind"]), (Absent("no triton"), ["absent"]), (KeyError("x"), ["blind"])],
)
def test_a_family_that_cannot_attach_is_told_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kinds: list[str]
) -> None:
    def refuse(watching: Watching) -> None:
        raise error

    ours = {"odd": SimpleNamespace(attach=refuse), "fx_trace": families()["fx_trace"]}
    monkeypatch.setattr(attach, "families", lambda: ours)
    with watched(tmp_path) as recording:
        torch.fx.symbolic_trace(torch.nn.ReLU())
    assert [event.kind for event in recording.of("blind", "absent")] == kinds
    assert entered(recording) == ["trace"]


def test_traces_and_compiles_are_recorded_and_warm_calls_are_not(tmp_path: Path) -> None:
    with watched(tmp_path) as recording:
        torch.fx.symbolic_trace(torch.nn.ReLU())
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        compiled(torch.ones(2))
        cold = len(recording.events())
        for _ in range(30_000):
            compiled(torch.ones(2))
        assert len(recording.events()) == cold
    assert entered(recording) == ["trace", "compile"]
    (made,) = recording.of("compile")
    assert made.data["ok"]
    assert made.data["reason"] is None


def test_warm_calls_of_inductor_code_run_no_line_of_ours(tmp_path: Path) -> None:
    """By count of calls into our files, not of events: a hook that stays silent costs too.

    The flag's reader may carry code of ours in place of its own; that is no further call.
    """
    calls: list[str] = []

    def profile(frame: FrameType, what: str, arg: object) -> None:
        code = frame.f_code
        ours = "fxrace" in code.co_filename and "tests" not in code.co_filename
        if what == "call" and ours and code is not READER.__code__:
            calls.append(code.co_name)

    with watched(tmp_path):
        compiled = torch.compile(lambda x: x * 3 + 1)
        x = torch.ones(4, requires_grad=True)
        compiled(x).sum().backward()
        sys.setprofile(profile)
        try:
            for _ in range(100):
                compiled(x)
            warm = len(calls)
            torch.fx.symbolic_trace(torch.nn.ReLU())
        finally:
            sys.setprofile(None)
    assert warm == 0
    assert calls


def test_a_recompile_says_why(tmp_path: Path) -> None:
    with watched(tmp_path) as recording:
        compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
        for size in (3, 4):
            compiled(torch.ones(size))
    reasons = [event.data["reason"] for event in recording.of("compile")]
    assert reasons[0] is None
    assert "size mismatch" in reasons[1]


def test_compiled_calls_are_heard_through_wrappers_made_before(tmp_path: Path) -> None:
    compiled = torch.compile(lambda x: x - 1, backend="eager")
    compiled(torch.ones(2))
    heard: list[int] = []
    recorder = Recording(tmp_path).recorder
    pressure = NoPressure()
    pressure.called = lambda: heard.append(1)  # type: ignore[method-assign]
    watching = Watching(recorder=recorder, regions=Regions(recorder, pressure), pressure=pressure)
    assert not compiled_calls.wanted(watching)
    detach = compiled_calls.attach(watching)
    compiled(torch.ones(2))
    detach()
    compiled(torch.ones(2))
    assert len(heard) == 1


def make_fx() -> None:
    proxy_tensor.make_fx(lambda x: x + 1)(torch.ones(2))


def recompute(*, reentrant: bool, preserve: bool = True) -> None:
    x = torch.ones(3, requires_grad=True)
    checkpointing.checkpoint(
        lambda y: y.sin(), x, use_reentrant=reentrant, preserve_rng_state=preserve
    ).sum().backward()


def eager_flex() -> None:
    q = torch.randn(1, 1, 16, 16)
    flex.flex_attention(q, q, q)


def cond() -> None:
    torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(2),))


def aot() -> None:
    compiled = torch.compile(lambda x: (x.sin() * 2).sum(), backend="aot_eager")
    compiled(torch.ones(3, requires_grad=True)).backward()


def inductor() -> None:
    torch.compile(lambda x: x.cos() * 7 + 3)(torch.ones(3))


def stance() -> None:
    with torch.compiler.set_stance("force_eager"):
        pass


def config() -> None:
    patch = torch._dynamo.config.patch(suppress_errors=False)
    with patch, patch:
        torch.fx.symbolic_trace(torch.nn.ReLU())


def export() -> None:
    program, file = torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.export.load(file)


CHECKPOINT = ["checkpoint", "recompute"]


@pytest.mark.parametrize(
    ("work", "kinds"),
    [
        (make_fx, ["make_fx", "trace"]),
        (lambda: recompute(reentrant=True), [*CHECKPOINT, "rng"]),
        (lambda: recompute(reentrant=False), [*CHECKPOINT, "rng"]),
        (lambda: recompute(reentrant=True, preserve=False), CHECKPOINT),
        (lambda: recompute(reentrant=False, preserve=False), CHECKPOINT),
        (eager_flex, ["flex_eager", "hop", "compile"]),
        (cond, ["hop", "compile"]),
        (stance, ["stance"]),
        (config, ["config", "trace"]),
    ],
)  # fmt: skip
def test_a_family_records_its_regions_in_order(
    tmp_path: Path, work: Callable[[], None], kinds: list[str]
) -> None:
    torch._dynamo.reset()
    with watched(tmp_path) as recording:
        work()
    assert entered(recording) == kinds
    assert len(entered(recording, "exit")) == len(kinds)


@pytest.mark.parametrize(
    ("work", "kinds"),
    [
        (aot, {"compile", "aot", "make_fx", "trace", "lazy_backward"}),
        (inductor, {"compile", "inductor", "aot"}),
        (export, {"export", "make_fx", "trace"}),
    ],
)
def test_a_compile_or_export_is_seen_layer_by_layer(
    tmp_path: Path, work: Callable[[], None], kinds: set[str]
) -> None:
    torch._dynamo.reset()
    uncached = torch._inductor.config.patch(force_disable_caches=True)
    with uncached, watched(tmp_path) as recording:
        work()
    assert kinds <= set(entered(recording))


def nested(x: torch.Tensor, depth: int) -> torch.Tensor:
    if not depth:
        return x * 1.01
    return checkpointing.checkpoint(lambda y: nested(y, depth - 1) + 1, x, use_reentrant=True)


def test_the_stand_in_of_the_compile_lock_says_who_owns_it(tmp_path: Path) -> None:
    """``threading.Condition`` and the guard no_circle ask a reentrant lock that."""
    with watched(tmp_path):
        assert not convert.compile_lock._is_owned()
        with convert.compile_lock:
            assert convert.compile_lock._is_owned()
