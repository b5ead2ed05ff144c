"""Safety against speed: every configuration as a point, and the front of those worth choosing.

A configuration is on the front when no other failed less often and was at least as fast, or was
faster and failed at most as often. One whose every trial failed has no speed and no place on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from fxrace.records.document import SweepDocument
from fxrace.records.page import Point
from fxrace.render.view import grid, words
from fxrace.render.view.answer import CONDITION, Configuration, configurations, named


def points(document: SweepDocument) -> tuple[tuple[str, Point], ...]:
    """(name, point) of each configuration that was judged: the front first, then by speed."""
    every = [one for one in configurations(document) if one.failures.n]
    cells = _cells_of(document)
    names = grid.varied(document.axes, [one.knobs for one in every])
    crowded = any(t.throughput and t.throughput.oversubscribed for t in document.trials)
    front = {id(one) for one in _front(every)}
    made = [
        (
            words.one_line(named(one.knobs, names), 200) or "the one configuration",
            Point(
                cells=cells[grid.key(one.knobs)],
                k=one.failures.k,
                n=one.failures.n,
                low=one.failures.low,
                high=one.failures.high,
                speed=_speed(one),
                front=id(one) in front,
                oversubscribed=crowded,
            ),
        )
        for one in every
    ]
    return tuple(sorted(made, key=lambda pair: _order(pair[1])))


def _order(point: Point) -> tuple[bool, float, float]:
    return not point.front, -(point.speed or (0.0,))[0], point.k / point.n


def _front(every: Sequence[Configuration]) -> list[Configuration]:
    timed = [one for one in every if one.throughput is not None]
    return [one for one in timed if not any(_beats(other, one) for other in timed)]


def _beats(one: Configuration, other: Configuration) -> bool:
    """At least as safe and as fast, and better in one of the two."""
    better = _rank(one), _rank(other)
    return better[0] != better[1] and all(a >= b for a, b in zip(*better, strict=True))


def _rank(one: Configuration) -> tuple[float, float]:
    speed = one.throughput.median if one.throughput else 0.0
    return -one.failures.k / one.failures.n, speed


def _speed(one: Configuration) -> tuple[float, float, float] | None:
    if one.throughput is None:
        return None
    return one.throughput.median, one.throughput.low, one.throughput.high


def _cells_of(document: SweepDocument) -> dict[grid.Key, tuple[int, ...]]:
    """Knobs without the test condition -> numbers of the cells."""
    found: dict[grid.Key, list[int]] = {}
    for number, cell in enumerate(grid.configurations(document)):
        chosen = {axis: value for axis, value in cell.knobs.items() if axis != CONDITION}
        found.setdefault(grid.key(chosen), []).append(number)
    return {key: tuple(numbers) for key, numbers in found.items()}
