"""An exception or a lack of memory in any role stops all, at once, with every error on record."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch

from fxrace.records.event import Trace
from harness.roles import Feeder
from harness.step import Drafting
from tests.conformance.folder import names
from tests.unit.harness_threads.trials import run_trial

DENSE = {"attention": "dense"}
WITHIN_S = 10.0
"""It takes milliseconds, 2 s at most; a busy machine gets more. The 500 steps would take longer."""
SHARING = [name for name in names("sync") if name != "none"]
ERRORS = [ValueError("planted"), torch.OutOfMemoryError("planted: out of memory")]


class Fault:
    """Raises in one role's given step, and notes when."""

    def __init__(self, error: BaseException, *, index: int, step: int) -> None:
        self._error, self._index, self._step = error, index, step
        self.at_s = float("inf")

    def in_drafter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backward = Drafting._backward
        seen: dict[int, int] = {}

        def breaks(drafting: Drafting, *given: object) -> object:
            seen[drafting.index] = seen.get(drafting.index, -1) + 1
            self._perhaps(drafting.index, seen[drafting.index])
            return backward(drafting, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(Drafting, "_backward", breaks)

    def in_target(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make = Feeder.make

        def breaks(feeder: Feeder, number: int, step: int) -> object:
            self._perhaps(feeder._index, step)
            return make(feeder, number, step)

        monkeypatch.setattr(Feeder, "make", breaks)

    def _perhaps(self, index: int, step: int) -> None:
        if (index, step) == (self._index, self._step):
            self.at_s = time.monotonic()
            raise self._error


def stopped(trace: Trace, fault: Fault, role: str, error: BaseException) -> None:
    """It ended in time, said what happened and to whom, and left no thread behind."""
    assert time.monotonic() - fault.at_s < WITHIN_S
    (raised,) = trace.of("raised")
    assert raised.data["role"] == role
    assert raised.data["error"]["type"].rpartition(".")[2] == type(error).__name__
    left = [t.name for t in threading.enumerate() if t.name.startswith(("drafter", "target"))]
    assert not left


@pytest.mark.parametrize("error", ERRORS, ids=["exception", "memory"])
@pytest.mark.parametrize("sync", SHARING)
def test_a_drafter_that_others_need_stops_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str, error: BaseException
) -> None:
    fault = Fault(error, index=1, step=2)
    fault.in_drafter(monkeypatch)
    knobs = {**DENSE, "sync": sync}
    trace = run_trial(tmp_path, knobs, drafters=3, targets=2, steps=500)
    stopped(trace, fault, "drafter-1", error)


@pytest.mark.parametrize("queue", names("queue"))
@pytest.mark.parametrize("sync", ["none", "mean"])
def test_a_target_that_fails_stops_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str, queue: str
) -> None:
    fault = Fault(ERRORS[1], index=0, step=2)
    fault.in_target(monkeypatch)
    knobs = {**DENSE, "sync": sync, "queue": queue}
    trace = run_trial(tmp_path, knobs, drafters=2, targets=2, steps=500)
    stopped(trace, fault, "target-0", ERRORS[1])


def test_an_independent_drafter_stops_all_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(ERRORS[0], index=0, step=1)
    fault.in_drafter(monkeypatch)
    trace = run_trial(tmp_path, DENSE, drafters=3, steps=500, fail_fast=True)
    stopped(trace, fault, "drafter-0", ERRORS[0])


def test_otherwise_the_independent_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The green twin: what stops above is the wish or the need, not the error."""
    fault = Fault(ERRORS[0], index=0, step=1)
    fault.in_drafter(monkeypatch)
    trace = run_trial(tmp_path, DENSE, drafters=2, steps=6)
    steps = [event.data["drafter"] for event in trace.of("step")]
    assert (steps.count(0), steps.count(1)) == (1, 6)


def test_the_coordinator_is_a_role_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise ERRORS[1]

    monkeypatch.setattr("harness.meeting._together", breaks)
    trace = run_trial(tmp_path, {**DENSE, "sync": "one_coordinator"}, drafters=2, steps=50)
    raised = {event.data["role"] for event in trace.of("raised")}
    assert raised == {"coordinator"}
    assert not list(trace.of("step"))


def test_two_that_fail_are_two_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    backward = Drafting._backward

    def breaks(drafting: Drafting, *given: object) -> object:
        if drafting.index < 2:
            both.wait(20)
            raise ValueError(f"planted {drafting.index}")
        return backward(drafting, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Drafting, "_backward", breaks)
    trace = run_trial(tmp_path, {**DENSE, "sync": "mean"}, drafters=3, steps=50)
    assert {e.data["role"] for e in trace.of("raised")} == {"drafter-0", "drafter-1"}
