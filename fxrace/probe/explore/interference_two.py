"""Two-point schedules: A in, B in, A out, B out.

A State that both save and restore survives one thread running inside the other; it does not
survive two that overlap without nesting. So B is stopped too, inside its own borrowing, until A
has ended. The points are those of either where a State that both borrow is off its baseline:
the first and the last of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fxrace.probe.explore.interference_course import Course, Order, Prepared
from fxrace.probe.explore.interference_reference import Point, run
from fxrace.probe.explore.interference_search import Search
from fxrace.probe.operations import Cost, Kind

_MOST = {Cost.CHEAP: 8, Cost.MEDIUM: 8, Cost.EXPENSIVE: 4}


def meetings(search: Search) -> list[tuple[str, str]]:
    """(A's point, B's point) to stop at; empty where the two borrow nothing in common."""
    prepared, ours = search.prepared, search.reference.points
    borrowed = {state for point in ours for state in point.off}
    if not borrowed or prepared.b.kind is Kind.OBSERVER:
        return []
    search.runs += 1
    theirs = points_of_b(prepared)
    common = sorted(borrowed & {state for point in theirs for state in point.off})
    found: list[tuple[str, str]] = []
    for state in common:
        a, b = _borders(ours, state), _borders(theirs, state)
        found += [
            (one.name, other.name)
            for one, other in ((a[0], b[0]), (a[-1], b[-1]))
            if not (one.locked and other.locked)  # B would wait for A's lock and never get there
        ]
    return list(dict.fromkeys(found))[: _MOST[prepared.b.cost]]


def points_of_b(prepared: Prepared) -> tuple[Point, ...]:
    """B's own points, and which States are off there."""
    subjects = [prepared.a_subject] * 2
    swapped = replace(
        prepared, a=prepared.b, b=prepared.a, a_subject=prepared.b_subjects[0], b_subjects=subjects
    )
    heard = run(swapped, Course(order=Order.A_FIRST, points=True))
    return tuple(
        Point(name=m["name"], off=tuple(m["off"]), locked=m["locked"]) for m in heard.all("point")
    )


def _borders(points: Sequence[Point], state: str) -> list[Point]:
    return [point for point in points if state in point.off]
