"""An exception or a lack of memory in any role stops all, at once, with every error on record.

Times are the trial's own: from the record of the failure to the record of the last role's end, so
that neither starting nor judging counts. Where others shall wait somewhere when the fault comes,
the fault waits until they do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from fxrace.probe.participants import participants
from fxrace.records.event import Trace
from harness.attention.dense import Dense
from harness.channel import Channel
from harness.crew import Crew, Failures
from harness.roles import Feeder, Trainer
from harness.step import Drafting
from tests.conformance.folder import names
from tests.unit.harness_threads.threads import SOON_S
from tests.unit.harness_threads.trials import read, run_trial

DENSE = {"attention": "dense"}
WITHIN_S = 2.0
"""What is promised; here it takes milliseconds. The 500 steps would take longer."""
A_STEP_S = 2.0
SHARING = [name for name in names("sync") if name != "none"]
ERRORS = [ValueError("planted"), torch.OutOfMemoryError("planted: out of memory")]


def until(true: Callable[[], bool], bound_s: float = SOON_S) -> bool:
    """Wait for what other threads do, bounded; did they?"""
    last_s = time.monotonic() + bound_s
    while not true():
        if time.monotonic() > last_s:
            return False
        time.sleep(0.001)
    return True


def waiting_for(what: str, count: int) -> Callable[[], bool]:
    """Are so many roles waiting for this?"""
    return lambda: list(participants._waiting.values()).count(what) >= count


class Fault:
    """Raises in one role's given step, once ``when`` is true, or in the first step after it in
    which that comes. It may not in the given one: others that ran ahead wait for features, which
    no target makes as long as this role's queue is full.
    """

    def __init__(
        self,
        error: BaseException,
        *,
        index: int,
        step: int,
        when: Callable[[], bool] = lambda: True,
    ) -> None:
        self._error, self._index, self._step, self._when = error, index, step, when

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
        if index == self._index and step >= self._step and until(self._when, A_STEP_S):
            raise self._error


def stopped(trace: Trace, role: str, error: BaseException) -> None:
    """Every role ended in time; it is on record what happened, to whom; no thread is left."""
    (raised,) = trace.of("raised")
    assert raised.data["role"] == role
    assert raised.data["error"]["type"].rpartition(".")[2] == type(error).__name__
    ended = {event.data["role"]: event for event in trace.of("ended")}
    assert {ended.pop(role).data["how"]} == {"raised"}
    # Who takes what the failed one should have made raises its error, which is on record once.
    assert {event.data["how"] for event in ended.values()} <= {"stopped", "raised"}
    assert max(e.at_s for e in trace.of("ended")) - raised.at_s < WITHIN_S
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
    stopped(trace, "drafter-1", error)
    assert len(list(trace.of("ended"))) == 3 + 2 + (sync == "one_coordinator")


@pytest.mark.parametrize("queue", names("queue"))
@pytest.mark.parametrize("sync", ["none", "mean"])
def test_a_target_that_fails_stops_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str, queue: str
) -> None:
    fault = Fault(ERRORS[1], index=0, step=2)
    fault.in_target(monkeypatch)
    knobs = {**DENSE, "sync": sync, "queue": queue}
    trace = run_trial(tmp_path, knobs, drafters=2, targets=2, steps=500)
    stopped(trace, "target-0", ERRORS[1])
    assert len(list(trace.of("ended"))) == 2 + 2


@pytest.mark.parametrize("sync", ["mean", "one_coordinator"])
def test_while_others_wait_for_its_gradients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str
) -> None:
    place = "coordinator" if sync == "one_coordinator" else "the other drafters"
    fault = Fault(ERRORS[0], index=1, step=2, when=waiting_for(place, 2))
    fault.in_drafter(monkeypatch)
    trace = run_trial(tmp_path, {**DENSE, "sync": sync}, drafters=3, steps=500)
    stopped(trace, "drafter-1", ERRORS[0])


def test_while_others_wait_for_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(ERRORS[1], index=1, step=2, when=waiting_for("whole_step", 2))
    fault.in_drafter(monkeypatch)
    knobs = {**DENSE, "locking": "whole_step"}
    trace = run_trial(tmp_path, knobs, drafters=3, steps=500, fail_fast=True)
    stopped(trace, "drafter-1", ERRORS[1])
    (raised,) = trace.of("raised")
    later = [event for event in trace.of("step") if event.at_s > raised.at_s]
    assert len(later) < 10, "who got the lock next went on"


@pytest.mark.parametrize("queue", names("queue"))
def test_while_drafters_wait_for_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    channels: list[Channel[Any]] = []
    serve = Feeder.serve

    def serves(feeder: Feeder, given: Sequence[Channel[Any]], total: int) -> None:
        channels.extend(given)
        serve(feeder, given, total)

    monkeypatch.setattr(Feeder, "serve", serves)
    # Drafter 0 wants its step 2, and drafter 1 what comes after it.
    fault = Fault(ERRORS[0], index=0, step=2, when=lambda: all(c.asking for c in channels))
    fault.in_target(monkeypatch)
    trace = run_trial(tmp_path, {**DENSE, "queue": queue}, drafters=2, targets=1, steps=500)
    stopped(trace, "target-0", ERRORS[0])


@pytest.mark.parametrize("warmup", ["serial_per_drafter", "concurrent_per_drafter"])
def test_while_others_wait_to_warm_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warmup: str
) -> None:
    """Also when it cannot even begin: an accelerator may have no room for one more context."""
    place = "its turn to warm up" if "serial" in warmup else "the others, to warm up together"
    settle = Trainer.settle

    def settles(trainer: Trainer) -> None:
        if trainer.drafter == 0:
            if "serial" in warmup:
                assert until(waiting_for(place, 2))
            raise ERRORS[1]
        settle(trainer)

    monkeypatch.setattr(Trainer, "settle", settles)
    knobs = {**DENSE, "warmup": warmup}
    trace = run_trial(tmp_path, knobs, drafters=3, steps=500, fail_fast=True)
    stopped(trace, "drafter-0", ERRORS[1])
    assert not list(trace.of("step"))


def test_a_step_that_takes_long_is_left_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With compiles, one step can take minutes: what is stopped must not finish it."""
    calls, inside = [], threading.Event()
    attend = Dense.attend

    def attends(part: Dense, *given: Any) -> Any:
        if threading.current_thread().name == "drafter-0":
            inside.set()
            assert until(lambda: bool(failed))
            calls.append(1)
        return attend(part, *given)

    failed: list[int] = []
    ended = Failures.ended

    def notes(failures: Failures, role: str, how: str) -> None:
        ended(failures, role, how)
        failed.append(1)

    monkeypatch.setattr(Dense, "attend", attends)
    monkeypatch.setattr(Failures, "ended", notes)
    fault = Fault(ERRORS[0], index=1, step=0, when=inside.is_set)
    fault.in_drafter(monkeypatch)
    trace = run_trial(
        tmp_path, {**DENSE, "checkpoint": "nonreentrant"}, drafters=2, steps=500, fail_fast=True
    )  # fmt: skip
    stopped(trace, "drafter-1", ERRORS[0])
    assert not list(trace.of("step"))
    assert calls == [1], "its recompute was still begun"


def test_an_independent_drafter_stops_all_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(ERRORS[0], index=0, step=1)
    fault.in_drafter(monkeypatch)
    trace = run_trial(tmp_path, DENSE, drafters=3, steps=500, fail_fast=True)
    stopped(trace, "drafter-0", ERRORS[0])


def test_otherwise_the_independent_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The green twin: what stops above is the wish or the need, not the error.

    Who survives a race is what a sweep wants to know.
    """
    fault = Fault(ERRORS[0], index=0, step=1)
    fault.in_drafter(monkeypatch)
    trace = run_trial(tmp_path, DENSE, drafters=2, steps=6)
    steps = [event.data["drafter"] for event in trace.of("step")]
    assert (steps.count(0), steps.count(1)) == (1, 6)
    how = {event.data["role"]: event.data["how"] for event in trace.of("ended")}
    assert how == {"drafter-0": "raised", "drafter-1": "done", "target-0": "done"}


def test_the_coordinator_is_a_role_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise ERRORS[1]

    monkeypatch.setattr("harness.meeting._together", breaks)
    trace = run_trial(tmp_path, {**DENSE, "sync": "one_coordinator"}, drafters=2, steps=50)
    stopped(trace, "coordinator", ERRORS[1])
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
    raised = {event.data["role"]: event for event in trace.of("raised")}
    assert set(raised) == {"drafter-0", "drafter-1"}
    first_s = min(event.at_s for event in raised.values())
    assert max(e.at_s for e in trace.of("ended")) - first_s < WITHIN_S


def test_main_is_a_role_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller records what it failed with; nobody runs on without it."""

    def breaks(crew: Crew, bound_s: float) -> tuple[str, ...]:
        monkeypatch.undo()
        assert until(lambda: '"kind": "step"' in (tmp_path / "events.jsonl").read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr(Crew, "join", breaks)
    with pytest.raises(KeyboardInterrupt):
        run_trial(tmp_path, {**DENSE, "sync": "mean"}, drafters=2, steps=500)
    trace = read(tmp_path / "events.jsonl")
    assert not list(trace.of("raised"))
    assert {e.data["role"] for e in trace.of("ended")} == {"drafter-0", "drafter-1", "target-0"}
