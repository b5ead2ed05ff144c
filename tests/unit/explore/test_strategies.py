"""Strategies on toy programs: counts are formulas, and chances are as promised."""

from __future__ import annotations

import pickle
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxrace.probe.explore import strategies
from fxrace.probe.explore.choices import Fixed, Situation
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.schedule import bare
from fxrace.probe.explore.strategies import Setting, exhaustive, pct
from tests.unit.explore.toys import counting, every


def simulated(chooser, segments: tuple[int, ...]) -> list[Step]:
    """The steps of a program of independent threads, without running threads."""
    left, steps, current, at, visits = list(segments), [], None, "start#0", [0] * len(segments)
    while any(left):
        runnable = tuple(t for t, n in enumerate(left) if n)
        situation = Situation(step=len(steps), runnable=runnable, current=current, at=at)
        chosen = chooser(situation)
        steps.append(Step(runnable=runnable, chosen=chosen, current=current, at=at))
        left[chosen] -= 1
        visits[chosen] += 1
        current, at = chosen, f"p#{visits[chosen]}" if left[chosen] else "end"
    return steps


def brute_force(segments: tuple[int, ...], bound: int) -> int:
    """All sequences, those within the bound counted: no cleverness to be wrong."""
    total, length = 0, sum(segments)
    for order in product(range(len(segments)), repeat=length):
        if any(order.count(t) != n for t, n in enumerate(segments)):
            continue
        left, spent = list(segments), 0
        for index, thread in enumerate(order):
            if index and order[index - 1] != thread and left[order[index - 1]]:
                spent += 1
            left[thread] -= 1
        total += spent <= bound
    return total


def all_of(segments: tuple[int, ...], bound: int) -> list[tuple[int, ...]]:
    points = tuple(n - 1 for n in segments)
    search = exhaustive.strategy.begin(Setting(points=points, bound=bound))
    found = []
    while (chooser := search.propose()) is not None:
        steps = simulated(chooser, segments)
        assert search.learn(steps) == ""
        assert sum(step.is_preemption for step in steps) <= bound
        found.append(tuple(step.chosen for step in steps))
    return found


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.integers(0, 3))
def test_exhaustive_tries_each_schedule_once_and_as_many_as_the_formula(segments, bound) -> None:
    if sum(segments) > 8:
        segments = segments[:2]
    found = all_of(tuple(segments), bound)
    assert len(found) == len(set(found))
    assert len(found) == brute_force(tuple(segments), bound)
    assert len(found) == exhaustive.count([n - 1 for n in segments], bound)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2))
def test_the_count_of_two_long_threads(a, b, bound) -> None:
    assert exhaustive.count((a - 1, b - 1), bound) == len(all_of((a, b), bound))


def test_two_traces_of_four_points_have_2_10_42_schedules() -> None:
    assert [exhaustive.count((4, 4), bound) for bound in (0, 1, 2)] == [2, 10, 42]


def test_a_count_too_large_to_make_is_an_estimate_from_above() -> None:
    assert exhaustive.count((30, 30, 30), 2) > exhaustive.count((12, 12, 12), 2)


def test_a_program_that_changes_is_told_and_no_proof() -> None:
    search = exhaustive.strategy.begin(Setting(points=(2, 2), bound=1))
    chooser = search.propose()
    assert chooser is not None
    assert search.learn(simulated(chooser, (3, 3))) == ""
    chooser = search.propose()
    assert chooser is not None
    other = [
        Step(runnable=s.runnable, chosen=s.chosen, current=s.current, at=f"q{s.at}")
        for s in simulated(chooser, (3, 3))
    ]
    assert search.learn(other).startswith("choice 0: ")


def test_exhaustive_with_real_threads_runs_what_it_says() -> None:
    stage, current = bare()
    log: list[str] = []
    orders = []
    program = counting((2, 1), current, log)
    search = exhaustive.strategy.begin(Setting(points=(2, 1), bound=2))
    while (chooser := search.propose()) is not None:
        played = stage.play(program, chooser)
        assert search.learn(played.steps) == ""
        assert "".join("AB"[step.chosen] for step in played.steps) == "".join(log)
        orders.append("".join(log))
    assert len(set(orders)) == len(orders) == exhaustive.count((2, 1), 2)


@pytest.mark.parametrize("name", strategies.names())
def test_every_strategy_is_reproducible_and_its_choosers_travel(name: str) -> None:
    def played(travel: bool) -> list[list[int]]:
        search = strategies.load(name).begin(Setting(points=(5, 5), seed=7, bound=1))
        found = []
        while len(found) < 12 and (chooser := search.propose()) is not None:
            if travel:
                chooser = pickle.loads(pickle.dumps(chooser))
            steps = simulated(chooser, (6, 6))
            search.learn(steps)
            found.append([step.chosen for step in steps])
        return found

    assert played(travel=True) == played(travel=False)
    assert played(travel=False)
    assert strategies.load(name).__class__.__name__ == "Strategy"


def test_serial_is_every_order_and_no_preemption() -> None:
    stage, current = bare()
    log: list[str] = []
    program = counting((1, 1, 1), current, log)
    setting = Setting(points=(1, 1, 1))
    found = every(program, stage, strategies.load("serial"), setting)
    assert len(found) == 6
    assert all(played.preemptions == 0 for played in found)
    assert len({played.choices for played in found}) == 6


def test_random_reaches_every_schedule_of_a_small_program() -> None:
    search = strategies.load("random").begin(Setting(points=(2, 2)))
    seen = set()
    for _ in range(600):
        chooser = search.propose()
        assert chooser is not None
        seen.add(tuple(step.chosen for step in simulated(chooser, (3, 3))))
    assert len(seen) == 20


def test_pct_keeps_its_promise_of_depth() -> None:
    """A bug of depth 2: A's 3rd segment runs after B's 2nd began and before B's 4th.

    One ordering constraint more than a plain order: found with a chance of 1 / (n * k) or more.
    """
    threads, k, found, draws = 2, 10, 0, 2000
    for seed in range(draws):
        chooser = pct.priorities(f"{seed}", threads=threads, steps=k, depth=2)
        order = [step.chosen for step in simulated(chooser, (5, 5))]
        places = {t: [i for i, one in enumerate(order) if one == t] for t in (0, 1)}
        found += places[1][1] < places[0][2] < places[1][3]
    assert found / draws >= 1 / (threads * k)


def test_pct_of_depth_1_never_preempts() -> None:
    for seed in range(50):
        chooser = pct.priorities(f"{seed}", threads=3, steps=9, depth=1)
        assert not any(step.is_preemption for step in simulated(chooser, (3, 3, 3)))


def test_sticky_switches_less_than_random() -> None:
    def switches(name: str) -> int:
        search = strategies.load(name).begin(Setting(points=(9, 9), seed=3))
        return sum(
            step.is_preemption for _ in range(100) for step in simulated(search.propose(), (10, 10))
        )

    assert switches("sticky") < switches("random") / 2


def test_a_choice_that_cannot_be_followed_is_drift() -> None:
    stage, current = bare()
    played = stage.play(counting((1, 1), current, []), Fixed((0, 5)))
    assert played.drift == "step 1: thread 5 was to run, and only 0, 1 could, at p#1"
    assert [ended.returned for ended in played.ended] == [True, True]
