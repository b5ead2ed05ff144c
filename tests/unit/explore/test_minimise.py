"""Minimising on toys: nothing can be left out of what is left, and it still shows the cause."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fxrace.probe.explore.choices import Fixed, InOrder, Stop, Stops
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.minimise import Minimal, Minimiser, points_by_thread, stops_of
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import bare

PLACES = [Stop(0, f"p#{n}", 1) for n in range(1, 9)] + [Stop(1, f"q#{n}", 0) for n in range(1, 9)]
NOBODY = Program(prepare=list, names=("A", "B"))


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from(PLACES), min_size=1), st.data())
def test_what_is_left_is_needed_and_enough(stops, data) -> None:
    """Monotone predicates: it shows wherever some needed set is among the stops."""
    needed = frozenset(data.draw(st.sets(st.sampled_from(sorted(stops, key=str)))))
    asked: list[frozenset[Stop]] = []

    def shows(program, chooser) -> bool:
        asked.append(frozenset(chooser.stops))
        return needed <= frozenset(chooser.stops)

    left = Minimiser(shows, most=10_000)._fewer_stops(NOBODY, 0, tuple(sorted(stops, key=str)))
    assert frozenset(left) == needed
    assert all(one <= frozenset(stops) for one in asked)


@settings(max_examples=200, deadline=None)
@given(st.sets(st.sampled_from(PLACES), min_size=1, max_size=9), st.integers(1, 10**6))
def test_of_any_predicate_what_is_left_shows_it_and_no_single_stop_can_go(stops, seed) -> None:
    """Also where leaving a stop out can bring the cause back: 1-minimal, never more stops."""
    whole = tuple(sorted(stops, key=str))

    def shows(program, chooser) -> bool:
        key = tuple(sorted(map(str, chooser.stops)))
        return tuple(chooser.stops) == whole or hash((seed, key)) % 3 == 0

    left = Minimiser(shows, most=10_000)._fewer_stops(NOBODY, 0, whole)
    assert len(left) <= len(whole)
    assert shows(NOBODY, Stops(0, left))
    for n in range(len(left)):
        assert not shows(NOBODY, Stops(0, left[:n] + left[n + 1 :]))


def saved_and_restored(current: Current, extra: int, threads: int) -> tuple[Program, dict]:
    """A State saved, set and put back with points in between, and bystanders."""
    shared = {"value": 0}

    def body() -> None:
        for _ in range(extra):
            current.reach("before")
        was = shared["value"]
        current.reach("saved")
        shared["value"] = 1
        current.reach("set")
        for _ in range(extra):
            current.reach("work")
        shared["value"] = was
        current.reach("restored")

    def bystander() -> None:
        for _ in range(extra):
            current.reach("by")

    def prepare():
        shared["value"] = 0
        return [body, body, *[bystander] * (threads - 2)]

    return Program(prepare=prepare, names=("A", "B", "C", "D")[:threads]), shared


def test_a_stuck_state_is_cut_to_its_two_stops_and_two_threads() -> None:
    stage, current = bare()
    program, shared = saved_and_restored(current, extra=3, threads=3)

    def shows(program: Program, chooser) -> bool:
        stage.play(program, chooser)
        return shared["value"] != 0

    choices = (2, 0, 2, 0, 0, 0, 0, 0, 1, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0)
    played = stage.play(program, Fixed(choices))
    assert shared["value"] == 1
    assert len(stops_of(played)[1]) >= 5
    minimiser = Minimiser(shows)
    minimal = minimiser.minimise(program, played)
    assert minimal.program.names == ("A", "B")
    assert len(minimal.stops) == 2
    assert shows(minimal.program, minimal.chooser())

    alone = points_by_thread(stage.play(minimal.program, InOrder((0, 1))))
    swaps = minimiser.swaps(minimal, alone)
    first = minimal.stops[0].thread
    turns = {(s.thread, s.fails, s.passes, s.later) for s in swaps}
    # The first to enter must have set it, and not have put it back, when the other saves it.
    assert (first, "set#1", "saved#1", False) in turns
    assert (first, "work#3", "restored#1", True) in turns


def test_less_work_is_taken_where_it_still_shows() -> None:
    stage, current = bare()
    program, shared = saved_and_restored(current, extra=3, threads=2)
    smaller, other = saved_and_restored(current, extra=1, threads=2)
    harmless = Program(prepare=lambda: [lambda: None, lambda: None])

    def shows(program: Program, chooser) -> bool:
        stage.play(program, chooser)
        return shared["value"] != 0 or other["value"] != 0

    chooser = Stops(0, (Stop(0, "set#1", 1), Stop(1, "set#1", 0)))
    played = stage.play(program, chooser)
    minimal = Minimiser(shows).minimise(program, played, smaller=[harmless, smaller])
    assert minimal.program is smaller


def test_it_gives_up_after_its_budget_with_what_it_has() -> None:
    minimiser = Minimiser(lambda program, chooser: True, most=3)
    stops = tuple(PLACES)
    left = minimiser._fewer_stops(NOBODY, 0, stops)
    assert minimiser.tried == 3
    assert 0 < len(left) < len(stops)


@given(st.lists(st.integers(0, 1), max_size=12))
def test_a_schedule_and_its_stops_are_the_same_schedule(choices) -> None:
    stage, current = bare()

    def body() -> None:
        for _ in range(4):
            current.reach("p")

    program = Program(prepare=lambda: [body, body])
    played = stage.play(program, Fixed(tuple(choices)))
    start, stops = stops_of(played)
    assume(len(stops) < 8)
    again = stage.play(program, Stops(start, stops))
    assert again.steps == played.steps
    assert isinstance(Minimal(program=program, start=start, stops=stops, tried=0).chooser(), Stops)
