"""Finds where a hazard came and where it went, over a sorted row of torch versions.

Pure: says which version to run next, and how often, until nothing is left to learn. It assumes
one unbroken stretch of versions with the hazard. Both ends are tried first, then whatever halves
the largest gap until the hazard is seen once, then each boundary by halving; a version that
cannot be judged is passed over for its neighbour. The surprise: "absent" is never certain. It is
worth ``1 - (1 - p) ** n`` for n runs, p being how often the hazard shows where it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fxrace.records.repro import Boundary, Sight


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What was seen at one place: the hazard showed in ``k`` of ``n`` runs, 0 of 0 for a skip."""

    sight: Sight
    k: int
    n: int


Seen = Mapping[int, Probe]


def next_step(count: int, seen: Seen, confidence: float) -> tuple[int, int] | None:
    """The index of the version to run next and how often, or None when nothing is left to learn.

    New places first; at the end, what bounds the stretch is run again until it is sure enough.
    """
    wanted = runs_needed(seen, confidence)
    place = _next_place(count, seen)
    if place is not None:
        return place, wanted
    for place in _bounds(seen):
        if place is not None and seen[place].n < wanted:
            return place, wanted - seen[place].n
    return None


def _next_place(count: int, seen: Seen) -> int | None:
    untried = [place for place in range(count) if place not in seen]
    shows = _places(seen, Sight.SHOWS)
    if not untried:
        return None
    if not shows:
        return _towards_a_sighting(count, untried)
    left, right = _bounds(seen)
    for end, bound in ((count - 1, right), (0, left)):
        if bound is None and end in untried:
            return end
    above = [p for p in untried if shows[-1] < p < (count if right is None else right)]
    below = [p for p in untried if (-1 if left is None else left) < p < shows[0]]
    return next((_middle(gap) for gap in (above, below) if gap), None)


def _bounds(seen: Seen) -> tuple[int | None, int | None]:
    """The nearest places without the hazard, below and above those with it."""
    shows, absent = _places(seen, Sight.SHOWS), _places(seen, Sight.ABSENT)
    if not shows:
        return None, None
    below = max((p for p in absent if p < shows[0]), default=None)
    return below, min((p for p in absent if p > shows[-1]), default=None)


def _towards_a_sighting(count: int, untried: Sequence[int]) -> int:
    """Both ends, then the middle of the widest stretch that nobody has looked into."""
    for place in (count - 1, 0):
        if place in untried:
            return place
    stretches: list[list[int]] = [[untried[0]]]
    for place in untried[1:]:
        if place - stretches[-1][-1] == 1:
            stretches[-1].append(place)
        else:
            stretches.append([place])
    return _middle(max(stretches, key=len))


def runs_needed(seen: Seen, confidence: float) -> int:
    """Runs without the hazard that make "absent" as sure as asked for; 1 before any sighting."""
    rate = rate_of(seen)
    if rate is None:
        return 1
    return max(1, math.ceil(math.log(1 - confidence) / math.log(1 - rate)))


def rate_of(seen: Seen) -> float | None:
    """How often the hazard shows where it is, by the rule of succession; None before a sighting."""
    shown = [probe for probe in seen.values() if probe.sight is Sight.SHOWS]
    if not shown:
        return None
    return (sum(p.k for p in shown) + 1) / (sum(p.n for p in shown) + 2)


def confidence_of(probe: Probe, rate: float | None) -> float:
    """The probability that what was seen at this place is so."""
    if probe.sight is Sight.SHOWS:
        return 1.0
    if probe.sight is not Sight.ABSENT or rate is None:
        return 0.0
    return 1 - (1 - rate) ** probe.n


def boundaries(versions: Sequence[str], seen: Seen) -> tuple[Boundary | None, Boundary | None]:
    """Where the hazard came, and where it went."""
    shows = _places(seen, Sight.SHOWS)
    below, above = _bounds(seen)
    came = None if below is None else _boundary(versions, seen, below, shows[0], clear=below)
    went = None if above is None else _boundary(versions, seen, shows[-1], above, clear=above)
    return came, went


def _boundary(versions: Sequence[str], seen: Seen, low: int, high: int, *, clear: int) -> Boundary:
    return Boundary(
        before=versions[low],
        at=versions[high],
        between=tuple(versions[low + 1 : high]),
        confidence=round(confidence_of(seen[clear], rate_of(seen)), 4),
    )


def _places(seen: Seen, sight: Sight) -> list[int]:
    return sorted(place for place, probe in seen.items() if probe.sight is sight)


def _middle(places: Sequence[int]) -> int:
    return places[len(places) // 2]
