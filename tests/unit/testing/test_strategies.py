"""The strategies give what they say, shrink to nothing, and find a planted difference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from fxrace import strategies
from fxrace.catalog.operations import operations
from fxrace.probe.explore.explorer import Budget
from fxrace.probe.explore.thread_programs import ThreadProgram
from fxrace.probe.explore.token import Replay, decisions
from fxrace.testing.alone import bench
from fxrace.testing.hunt import Hunt, hunt

COST = {one.name: one.cost for one in operations()}


@given(strategies.thread_programs(threads=3, length=2), st.data())
def test_programs_are_small_and_affordable(made: ThreadProgram, data: st.DataObject) -> None:
    assert 2 <= len(made.threads) <= 3
    assert all(1 <= len(names) <= 2 for names in made.threads)
    assert all(COST[name] != "expensive" for names in made.threads for name in names)
    for smaller in made.smaller:
        assert sum(map(len, smaller.threads)) == sum(map(len, made.threads)) - 1


def test_schedules_shrink_to_none() -> None:
    assert find(strategies.schedules(), lambda _: True) == Replay(())
    assert find(strategies.schedules(), lambda one: bool(one.made)) == Replay((1,))


@pytest.mark.slow
def test_a_schedule_is_compared_with_running_serially() -> None:
    racy = ThreadProgram(threads=(("symbolic_trace",), ("symbolic_trace", "module_call")))
    safe = ThreadProgram(threads=(("module_call",), ("no_grad",)))
    unsure = ThreadProgram(threads=(("random_draw",), ("random_draw",)))
    with bench() as one:
        found, _ = one.explore(racy, Budget(schedules=30))
        assert found is not None
        cause, played = found.found[0]
        again = one.compare(racy, Replay(decisions(played.steps))).cause
        assert again is not None
        assert again.fingerprint == cause.fingerprint
        assert one.compare(racy, Replay(())).cause is None
        assert one.compare(safe, Replay((0, 1))).cause is None
        assert one.compare(unsure, Replay(())).why_not


@pytest.mark.slow
def test_the_machine_finds_a_hazard_of_the_catalogue_and_none_where_there_is_none() -> None:
    with bench() as one:
        looking = Hunt(seconds=900, rounds=1, examples=1, steps=3)
        found = hunt(one, replace(looking, only=["symbolic_trace"]))
        safe = hunt(one, replace(looking, only=["module_call"]))
    patcher = next(each for each in found["found"] if each["state"] == "fx.patcher")
    assert patcher["program"] == "symbolic_trace | symbolic_trace"
    assert patcher["shown"] == [5, 5]
    assert (safe["found"], safe["seen"]) == ([], {})
    assert safe["schedules"] > 20
