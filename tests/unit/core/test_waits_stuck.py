"""A process is classified from its stacks; the recorded deadlock of an H200 from nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fxrace.core.detect import hang
from fxrace.core.stand import COMPILE_LOCK
from fxrace.core.stuck import Look, concluded
from fxrace.core.waits import DEVICE_THREAD, Hold, Wait
from fxrace.launch import py_spy
from fxrace.records.outcome import Stop, ThreadStack
from fxrace.records.stuck import Classification, Motion
from tests.unit.core.evidence_of import event, evidence
from tests.unit.core.test_waits import CALL, COMPILE, USER, stack

DUMP = Path(__file__).parents[2] / "golden/deadlock-compile-lock-device-thread/py-spy.json"
SLEEPER = stack("sleeper", USER)


@pytest.fixture(scope="module")
def recorded() -> tuple[ThreadStack, ...]:
    return py_spy.parse(DUMP.read_text())


def test_the_circle_is_recognised_without_events(recorded: tuple[ThreadStack, ...]) -> None:
    found = concluded(Look(stacks=recorded, motion={}))
    assert found.classification is Classification.DEADLOCK
    assert {(w.waiter, w.lock, w.owner) for w in found.ring} == {
        ("Dummy-1", COMPILE_LOCK, "drafter-1"),
        ("drafter-1", DEVICE_THREAD, "Dummy-1"),
    }


def test_the_caller_of_that_backward_waits_without_being_in_the_circle(
    recorded: tuple[ThreadStack, ...],
) -> None:
    found = concluded(Look(stacks=recorded, motion={}))
    assert ("drafter-2", "Dummy-1") in {(w.waiter, w.owner) for w in found.waits}
    assert "drafter-2" not in {wait.waiter for wait in found.ring}


@pytest.mark.parametrize("mover", ["Dummy-1", "drafter-1"])
def test_no_circle_when_one_of_its_threads_moves(
    recorded: tuple[ThreadStack, ...], mover: str
) -> None:
    found = concluded(Look(stacks=recorded, motion={mover: Motion.RUNS}))
    assert found.classification is not Classification.DEADLOCK


def test_no_circle_while_another_device_thread_works(recorded: tuple[ThreadStack, ...]) -> None:
    device = next(stack for stack in recorded if stack.thread == "Dummy-1")
    other = replace(device, thread="Dummy-2", frames=device.frames[:1])
    found = concluded(Look(stacks=(*recorded, other), motion={"Dummy-2": Motion.RUNS}))
    assert found.ring == ()


def test_no_circle_when_the_holder_has_left_the_compile(recorded: tuple[ThreadStack, ...]) -> None:
    outside = tuple(
        replace(s, frames=(*s.frames[:12], s.frames[-1])) if s.thread == "drafter-1" else s
        for s in recorded
    )
    assert concluded(Look(stacks=outside, motion={})).ring == ()


def test_one_runner_that_holds_what_others_want_is_starvation() -> None:
    compiling = stack("a", USER, CALL, COMPILE, USER)
    look = Look(stacks=(compiling, stack("b", USER, CALL)), motion={"a": Motion.RUNS})
    assert concluded(look).classification is Classification.STARVATION
    alone = Look(stacks=(compiling, stack("b", USER)), motion={"a": Motion.RUNS})
    assert concluded(alone).classification is Classification.RUNNING


def test_a_thread_that_waits_for_nobody_waits_outside() -> None:
    idle = stack("pool", ("/l/concurrent/futures/thread.py", "_worker"))
    outside = concluded(Look(stacks=(SLEEPER, idle), motion={}))
    assert outside.classification is Classification.EXTERNAL_WAIT
    assert concluded(Look(stacks=(idle,), motion={})).classification is Classification.UNKNOWN


def test_locks_read_from_source_close_circles_like_those_of_torch() -> None:
    waits = tuple(Wait(waiter=w, lock=lock, owner=None) for w, lock in (("a", "x"), ("b", "y")))
    holds = (Hold(owner="b", lock="x"), Hold(owner="a", lock="y"))
    stacks = (stack("a", USER), stack("b", USER))
    look = Look(stacks=stacks, motion={}, waits=waits, holds=holds)
    assert concluded(look).classification is Classification.DEADLOCK
    moving = replace(look, motion={"a": Motion.RUNS})
    assert concluded(moving).classification is Classification.STARVATION


def test_the_hang_detector_needs_no_events_either(recorded: tuple[ThreadStack, ...]) -> None:
    (alone,) = hang.find(evidence(stop=Stop.SILENT, stacks=recorded, complete=False))
    told = event("lock", "Dummy-1", edge="wait", lock=COMPILE_LOCK, owner="drafter-1")
    (both,) = hang.find(evidence(told, stop=Stop.SILENT, stacks=recorded, complete=False))
    assert alone.fingerprint == both.fingerprint
    assert {side.thread for side in alone.sides} == {"Dummy-1", "drafter-1"}
