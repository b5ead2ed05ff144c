"""Over every stretch of versions with the hazard: the right boundaries, in few runs."""

from __future__ import annotations

import itertools
import math

import pytest

from fxrace.core.bisect import Probe, boundaries, confidence_of, next_step, rate_of, runs_needed
from fxrace.records.repro import Sight

STRETCHES = [
    (count, low, high)
    for count in range(2, 10)
    for low, high in itertools.combinations_with_replacement(range(count), 2)
]


def bisected(
    count: int, low: int, high: int, *, skipped: frozenset[int] = frozenset()
) -> dict[int, Probe]:
    """Drive the search with a hazard that shows at every place from low to high."""
    seen: dict[int, Probe] = {}
    for _ in range(100):
        step = next_step(count, seen, 0.95)
        if step is None:
            return seen
        place, times = step
        before = seen[place].n if place in seen else 0
        if place in skipped:
            seen[place] = Probe(sight=Sight.SKIPPED, k=0, n=0)
        elif low <= place <= high:
            seen[place] = Probe(sight=Sight.SHOWS, k=1, n=before + 1)
        else:
            seen[place] = Probe(sight=Sight.ABSENT, k=0, n=before + times)
    raise AssertionError("the search did not end")


@pytest.mark.parametrize(("count", "low", "high"), STRETCHES)
def test_boundaries_are_found(count: int, low: int, high: int) -> None:
    names = [str(place) for place in range(count)]
    seen = bisected(count, low, high)
    since, fixed_in = boundaries(names, seen)
    assert (since.at if since else None) == (names[low] if low > 0 else None)
    assert (fixed_in.at if fixed_in else None) == (names[high + 1] if high + 1 < count else None)
    for boundary in (since, fixed_in):
        assert boundary is None or (not boundary.between and boundary.confidence >= 0.95)


def test_few_versions_are_run() -> None:
    """One end with the hazard: two ends, and then halving."""
    for count in (4, 8, 16, 32):
        for low in range(1, count):
            assert len(bisected(count, low, count - 1)) <= 2 + math.ceil(math.log2(count))


def test_a_version_that_cannot_be_judged_is_passed_over_and_named() -> None:
    seen = bisected(6, 0, 2, skipped=frozenset({3}))
    _, fixed_in = boundaries([str(place) for place in range(6)], seen)
    assert fixed_in is not None
    assert (fixed_in.before, fixed_in.between, fixed_in.at) == ("2", ("3",), "4")


def test_nothing_seen_means_no_boundary_and_every_version_tried() -> None:
    seen = bisected(5, 9, 9)
    assert set(seen) == set(range(5))
    assert boundaries(list("abcde"), seen) == (None, None)
    assert rate_of(seen) is None
    assert confidence_of(seen[0], None) == 0.0


def test_absence_is_worth_what_its_runs_are() -> None:
    often = {0: Probe(sight=Sight.SHOWS, k=1, n=1)}
    rarely = {0: Probe(sight=Sight.SHOWS, k=1, n=9)}
    assert runs_needed(often, 0.95) < runs_needed(rarely, 0.95)
    for seen in (often, rarely):
        absent = Probe(sight=Sight.ABSENT, k=0, n=runs_needed(seen, 0.95))
        assert confidence_of(absent, rate_of(seen)) >= 0.95
        fewer = Probe(sight=Sight.ABSENT, k=0, n=absent.n - 1)
        assert confidence_of(fewer, rate_of(seen)) < 0.95
