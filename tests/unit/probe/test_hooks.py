"""Hooks see what they are for, cost nothing on a warm call, and leave torch as it was."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch
import torch._dynamo.convert_frame as convert
from torch.fx import _symbolic_trace as fx

from fxrace.core.states import STATES
from fxrace.probe import states
from fxrace.probe.attach import attached
from fxrace.probe.hooks import compiled_calls
from fxrace.records.trial import Trial
from tests.unit.probe.recording import Recording


def touched() -> dict[str, object]:
    return {
        "trace": fx.Tracer.trace,
        "patcher": fx._new_patcher,
        "compile": convert._compile,
        "lock": convert.compile_lock,
        "reader": fx.is_fx_symbolic_tracing,
        "code": fx.is_fx_symbolic_tracing.__code__,
    }


def trial(pressure: str) -> Trial:
    return Trial(target="t:run", knobs={"pressure": pressure})


@pytest.mark.parametrize("pressure", ["none", "jitter", "hold"])
def test_torch_is_exactly_as_it_was_also_after_an_error(tmp_path: Path, pressure: str) -> None:
    before = touched()
    with pytest.raises(ZeroDivisionError), attached(trial(pressure), Recording(tmp_path).recorder):
        assert touched()["trace"] is not before["trace"]
        raise ZeroDivisionError
    assert touched() == before


def test_traces_and_compiles_are_recorded_and_warm_calls_are_not(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with attached(trial("none"), recording.recorder):
        torch.fx.symbolic_trace(torch.nn.ReLU())
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        compiled(torch.ones(2))
        cold = len(recording.of("region", "compile", "lock"))
        for _ in range(1000):
            compiled(torch.ones(2))
        assert len(recording.of("region", "compile", "lock")) == cold
    assert [e.data["region"] for e in recording.of("region") if e.data["edge"] == "enter"] == [
        "trace", "compile",
    ]  # fmt: skip
    (made,) = recording.of("compile")
    assert made.data["ok"]
    assert made.data["reason"] is None


def test_a_recompile_says_why(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with attached(trial("none"), recording.recorder):
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
    detach = compiled_calls.attach(lambda: heard.append(1))
    compiled(torch.ones(2))
    detach()
    compiled(torch.ones(2))
    assert len(heard) == 1


def test_every_state_resolves_or_is_not_in_this_torch() -> None:
    assert states.snapshot().unresolved == {}


@pytest.mark.parametrize("name", ["fx.patcher", "nn.module_call", "fx.traceback_meta"])
def test_a_state_off_its_baseline_is_a_leak_and_put_back_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    module, _, path = next(s for s in STATES if s.name == name).attribute.partition(":")
    holder: object = importlib.import_module(module)
    *outer, last = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    with monkeypatch.context() as patch:
        patch.setattr(holder, last, {"custom": {}} if "meta" in name else (lambda *_: None))
        states.record_leaks(recording.recorder, before)
    assert [event.data["state"] for event in recording.of("leak")] == [name]
    states.record_leaks(recording.recorder, before)
    assert len(recording.of("leak")) == 1


def test_an_equal_container_in_place_of_another_is_no_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    monkeypatch.setattr(torch.fx.traceback, "current_meta", {})
    states.record_leaks(recording.recorder, before)
    assert recording.of("leak", "blind") == []
