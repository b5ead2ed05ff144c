"""Workers: clean ones go on, poisoned ones are given up, dead ones are a verdict."""

from __future__ import annotations

import os
import signal
import threading
import time

from fxrace.probe.explore.choices import Fixed, InOrder
from fxrace.probe.explore.explorer import Budget, explore
from fxrace.probe.explore.played import End
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Limits, bare
from fxrace.probe.explore.workers import Workers


def counter(current, *, poison: bool = False) -> Program:
    """Two threads that each add 1 to what they read; a lost update raises where asked to."""
    shared = {"value": 0, "runs": 0}

    def body() -> tuple[int, int]:
        seen = shared["value"]
        current.reach("read")
        shared["value"] = seen + 1
        if poison and seen + 1 == 1 and shared["runs"] == 99:
            raise ValueError
        return shared["runs"], os.getpid()

    def prepare():
        shared["value"] = 0
        shared["runs"] += 1
        return [body, body]

    return Program(prepare=prepare)


def test_a_clean_worker_plays_on_in_one_process() -> None:
    stage, current = bare()
    with Workers(stage) as workers:
        program = counter(current)
        played = [workers.play(program, InOrder((0, 1))) for _ in range(5)]
        assert workers.forks == 1
    assert [one.ended[0].result[0] for one in played] == [1, 2, 3, 4, 5]
    assert {one.ended[0].result[1] for one in played} != {os.getpid()}


def test_isolated_schedules_have_a_process_each() -> None:
    stage, current = bare()
    with Workers(stage, spent=lambda played: True) as workers:
        program = counter(current)
        played = [workers.play(program, InOrder((0, 1))) for _ in range(5)]
        assert workers.forks == 5
    assert [one.ended[0].result[0] for one in played] == [1] * 5
    assert len({one.ended[0].result[1] for one in played}) == 5


def test_after_an_error_the_next_schedule_has_a_new_process() -> None:
    stage, _ = bare()

    def fails() -> None:
        raise ValueError("poison")

    with Workers(stage) as workers:
        program = Program(prepare=lambda: [fails, lambda: 1])
        for _ in range(3):
            assert workers.play(program, InOrder((0, 1))).ended[0].error is not None
        assert workers.forks == 3


def test_a_worker_that_dies_is_lost_with_its_signal_and_the_next_plays() -> None:
    stage, current = bare()
    parent = os.getpid()

    def dies() -> str:
        current.reach("p")
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"

    with Workers(stage) as workers:
        program = Program(prepare=lambda: [lambda: 1, dies])
        played = workers.play(program, InOrder((0, 1)))
        assert played.end is End.LOST
        assert played.drift == "killed by SIGKILL"
        assert played.is_dirty
        assert workers.play(counter(current), InOrder((0, 1))).end is not None


def test_a_worker_that_holds_the_interpreter_is_killed() -> None:
    """The schedule's own limit needs a thread that can run; the parent's needs nothing of it."""
    stage, _ = bare(Limits(limit_s=0.2))

    def stops_the_process() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    began = time.monotonic()
    with Workers(stage, limit_s=0.2, answer_s=0.5) as workers:
        program = Program(prepare=lambda: [stops_the_process, lambda: 1])
        played = workers.play(program, InOrder((0, 1)))
    assert played.end is End.LOST
    assert played.drift == "it did not answer"
    assert time.monotonic() - began < 20


def test_what_cannot_be_sent_is_lost_and_says_why() -> None:
    stage, _ = bare()
    with Workers(stage) as workers:
        program = Program(prepare=lambda: [threading.Lock, lambda: 1])
        played = workers.play(program, InOrder((0, 1)))
    assert played.end is End.LOST
    assert "pickle" in played.drift


def test_a_lost_update_is_found_and_its_absence_proved() -> None:
    stage, current = bare()

    def program(locked: bool) -> Program:
        shared = {"value": 0}

        def body() -> None:
            if not locked:
                seen = shared["value"]
                current.reach("read")
                shared["value"] = seen + 1
            else:
                shared["value"] += 1
                current.reach("added")

        def total() -> int:
            body()
            return 0

        def last() -> int:
            body()
            return 0

        return Program(
            prepare=lambda: (shared.update(value=0), [total, last])[1],
            condense=lambda _: shared["value"],
        )

    with Workers(stage) as workers:
        racy = explore(program(locked=False), workers.play, strategy="exhaustive")
        workers.give_up()
        safe = explore(program(locked=True), workers.play, strategy="exhaustive")
    assert racy.exhausted and racy.found and not racy.proves_absence
    assert len(racy.causes) == 1
    assert safe.exhausted and safe.proves_absence
    assert racy.schedules == safe.schedules == 6


def test_a_program_that_is_not_deterministic_proves_nothing() -> None:
    stage, current = bare()
    runs = {"n": 0}

    def body() -> None:
        runs["n"] += 1
        for _ in range(runs["n"] % 3):
            current.reach("p")

    with Workers(stage) as workers:
        told = explore(Program(prepare=lambda: [body, body]), workers.play, strategy="exhaustive")
    assert told.unsteady
    assert not told.proves_absence


def test_the_mixture_stops_where_nothing_new_comes() -> None:
    stage, current = bare()

    def body() -> None:
        for _ in range(3):
            current.reach("p")

    told = explore(
        Program(prepare=lambda: [body, body]),
        stage.play,
        strategy="portfolio",
        budget=Budget(schedules=2000, seed=4),
    )
    assert told.stopped_by == "saturated"
    assert told.coverage.new == 0
    assert 100 <= told.schedules < 1000
    assert not told.exhausted and not told.proves_absence


def test_the_budget_of_schedules_holds() -> None:
    stage, current = bare()

    def body() -> None:
        current.reach("p")

    told = explore(
        Program(prepare=lambda: [body, body]),
        stage.play,
        strategy="random",
        budget=Budget(schedules=7),
    )
    assert (told.schedules, told.stopped_by) == (7, "schedules")


def test_the_same_seed_plays_the_same_schedules() -> None:
    def played() -> list[tuple[int, ...]]:
        stage, current = bare()
        heard: list[tuple[int, ...]] = []

        def body() -> None:
            for _ in range(4):
                current.reach("p")

        explore(
            Program(prepare=lambda: [body, body]),
            stage.play,
            strategy="portfolio",
            budget=Budget(schedules=30, seed=9),
            heard=lambda one, cause: heard.append(one.choices),
        )
        return heard

    assert played() == played()
    assert Fixed(played()[0]).choices == played()[0]
