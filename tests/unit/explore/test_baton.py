"""A schedule always ends, and says how: locks seen and unseen."""

from __future__ import annotations

import threading
import time

from fxrace.probe.explore.choices import Fixed, InOrder, OneStop, TwoStops
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.gates import Gate
from fxrace.probe.explore.played import End
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import bare
from fxrace.probe.locks import NamedLock
from tests.unit.explore.toys import QUICK, once


def test_one_at_a_time_and_in_the_order_chosen() -> None:
    log: list[str] = []

    def body(name: str):
        def run(current: Current) -> str:
            for number in range(3):
                log.append(f"{name}{number}")
                current.reach("p")
            return name

        return run

    played = once([body("a"), body("b")], Fixed((0, 1, 1, 0, 1, 0)))
    assert log == ["a0", "b0", "b1", "a1", "b2", "a2"]
    assert played.end is End.FINISHED
    assert [ended.result for ended in played.ended] == ["a", "b"]
    assert [stood.at for stood in played.stood] == ["p#1", "p#2", "p#2", "p#3"]
    assert not played.is_dirty


def test_points_of_other_threads_are_passed_by() -> None:
    seen = threading.Event()

    def helped(current: Current) -> bool:
        helper = threading.Thread(target=lambda: (current.reach("p"), seen.set()))
        helper.start()
        helper.join(5)
        return seen.is_set()

    played = once([helped, lambda current: None], InOrder((0, 1)))
    assert played.ended[0].result is True
    assert [step.at for step in played.steps if step.at.startswith("p")] == []


def test_an_error_is_the_end_of_its_thread_alone() -> None:
    def fails(current: Current) -> None:
        current.reach("p")
        raise ValueError("no")

    played = once([fails, lambda current: 7], InOrder((0, 1)))
    assert played.end is End.FINISHED
    assert played.ended[0].error is not None
    assert played.ended[0].error["type"] == "ValueError"
    assert played.ended[1].result == 7


def gated(current: Current, name: str = "L") -> Gate:
    return Gate(threading.RLock(), name, current)


def test_a_lock_another_participant_holds_blocks_and_is_no_slip() -> None:
    stage, current = bare(QUICK)
    gate, log = gated(current), list[str]()

    def body(name: str):
        def run() -> None:
            with gate, gate:
                log.append(f"{name} in")
                current.reach("inside")
                log.append(f"{name} out")

        return run

    program = Program(prepare=lambda: [body("a"), body("b")])
    played = stage.play(program, OneStop(thread=0, at="inside#1"))
    assert log == ["a in", "a out", "b in", "b out"]
    assert [(b.thread, b.lock, b.owner) for b in played.blocks] == [(1, "L", 0)]
    assert not played.slips
    assert played.end is End.FINISHED
    names = [step.at for step in played.steps]
    assert "L:acquire#1" in names and "L:release#1" in names and "blocked:L" in names


def test_a_deadlock_of_participants_is_told_with_its_circle_at_once() -> None:
    stage, current = bare(QUICK)
    one, two = gated(current, "one"), gated(current, "two")

    def body(first: Gate, second: Gate):
        def run() -> None:
            with first:
                current.reach("middle")
                with second:
                    pass

        return run

    program = Program(prepare=lambda: [body(one, two), body(two, one)])
    began = time.monotonic()
    played = stage.play(program, TwoStops(first=0, at="middle#1", other=1, other_at="middle#1"))
    assert time.monotonic() - began < QUICK.limit_s / 2
    assert played.end is End.DEADLOCK
    assert set(played.circle) == {
        "A waits for two held by B",
        "B waits for one held by A",
    }
    assert played.is_dirty
    assert not any(ended.returned for ended in played.ended)
    assert {stood.thread for stood in played.stood} == {0, 1}

    # Unwinding has given the locks up: the same stage can still show the green twin.
    other = stage.play(program, InOrder((0, 1)))
    assert other.end is End.FINISHED


def test_a_lock_that_its_holder_took_along_is_a_deadlock_too() -> None:
    stage, current = bare(QUICK)
    gate = gated(current)

    def takes() -> None:
        gate.acquire()

    def wants() -> None:
        gate.acquire()

    played = stage.play(Program(prepare=lambda: [takes, wants]), InOrder((0, 1)))
    assert played.end is End.DEADLOCK
    assert played.circle == ("B waits for L held by A, which has ended",)


def test_a_wait_with_a_timeout_ends_where_nobody_else_can_run() -> None:
    stage, current = bare(QUICK)
    one, two = gated(current, "one"), gated(current, "two")
    got: list[bool] = []

    def patient() -> None:
        with one:
            current.reach("middle")
            with two:
                pass

    def impatient() -> None:
        with two:
            current.reach("middle")
            got.append(one.acquire(timeout=5))

    program = Program(prepare=lambda: [patient, impatient])
    played = stage.play(program, TwoStops(first=0, at="middle#1", other=1, other_at="middle#1"))
    assert played.end is End.FINISHED
    assert got == [False]


def test_an_unseen_lock_is_a_slip_and_the_schedule_goes_on() -> None:
    stage, current = bare(QUICK)
    hidden = threading.Lock()

    def body() -> None:
        with hidden:
            current.reach("inside")

    played = stage.play(Program(prepare=lambda: [body, body]), OneStop(thread=0, at="inside#1"))
    assert played.end is End.FINISHED
    assert [(slip.thread, slip.after) for slip in played.slips] == [(1, "start#0")]
    assert played.slips[0].what.endswith("<locals>.body") or played.slips[0].what.endswith("body")
    assert played.slips[0].stack
    assert all(ended.returned for ended in played.ended)


def test_an_unseen_reentrant_lock_says_its_owner_so_it_is_blocked() -> None:
    stage, current = bare(QUICK)
    hidden = threading.RLock()

    def body() -> None:
        with hidden:
            current.reach("inside")

    played = stage.play(Program(prepare=lambda: [body, body]), OneStop(thread=0, at="inside#1"))
    assert played.end is End.FINISHED
    assert not played.slips
    assert [(block.thread, block.owner) for block in played.blocks] == [(1, 0)]


def test_a_named_lock_of_the_harness_says_its_owner_too() -> None:
    lock = NamedLock("step")

    def body(current: Current) -> None:
        with lock.held():
            current.reach("inside")

    played = once([body, body], OneStop(thread=0, at="inside#1"))
    assert played.end is End.FINISHED
    assert not played.slips
    assert [(block.thread, block.owner) for block in played.blocks] == [(1, 0)]


def test_a_circle_over_unseen_reentrant_locks_is_a_deadlock() -> None:
    one, two = threading.RLock(), threading.RLock()

    def left(current: Current) -> None:
        with one:
            current.reach("middle")
            two.acquire()

    def right(current: Current) -> None:
        with two:
            current.reach("middle")
            one.acquire()

    chooser = TwoStops(first=0, at="middle#1", other=1, other_at="middle#1")
    played = once([left, right], chooser)
    assert played.end is End.DEADLOCK
    assert len(played.circle) == 2


def test_a_circle_over_plain_locks_ends_standing_with_both_stacks() -> None:
    one, two = threading.Lock(), threading.Lock()

    def body(first, second):
        def run(current: Current) -> None:
            with first:
                current.reach("middle")
                second.acquire()

        return run

    chooser = TwoStops(first=0, at="middle#1", other=1, other_at="middle#1")
    played = once([body(one, two), body(two, one)], chooser)
    assert played.end is End.STANDING
    assert len(played.slips) == 2
    assert {stood.thread for stood in played.stood if stood.stack} == {0, 1}
    assert played.is_dirty
