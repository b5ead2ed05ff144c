"""What running alone gives: A's points, and every outcome that some serial order produces.

Two threads that run one after the other are right by definition, so whatever A or B give in
either order is allowed at a stop. Each order runs twice in processes of their own: what differs
between two equal runs says nothing about threads, and such a pair is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fxrace.probe.explore.canonical import outcomes_differ
from fxrace.probe.explore.interference_course import Course, Order, Outcome, Prepared
from fxrace.probe.explore.interference_fork import End, Heard, forked
from fxrace.probe.explore.interference_run import body
from fxrace.probe.operations import Cost, Reuse

_LIMITS_S = {Cost.CHEAP: 40.0, Cost.MEDIUM: 60.0, Cost.EXPENSIVE: 240.0}
#: Stops in all, by what a run of B costs.
_BUDGETS = {Cost.CHEAP: 6000, Cost.MEDIUM: 120, Cost.EXPENSIVE: 12}
_ONCE = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One point of A alone: the States off their baseline there, and whether it has the lock."""

    name: str
    off: tuple[str, ...]
    locked: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """``reason`` is empty, or why nothing can be concluded. ``drift`` counts points that were in
    one of two equal runs only. ``leaks`` are States that one of them leaves off alone."""

    a: tuple[Outcome, ...] = ()
    b: tuple[Outcome, ...] = ()
    again: tuple[Outcome, ...] = ()
    points: tuple[Point, ...] = ()
    leaks: frozenset[str] = frozenset()
    drift: int = 0
    reason: str = ""


def limit_s(prepared: Prepared) -> float:
    """How long one fork may take."""
    return _LIMITS_S[prepared.a.cost] + _LIMITS_S[prepared.b.cost]


def run(prepared: Prepared, course: Course) -> Heard:
    """One run in a fork."""
    return forked(body(prepared, course), limit_s=limit_s(prepared))


Known = dict[str, Outcome]
"""What an operation gave alone, by name: a second pair of it need not ask twice."""


def reference(prepared: Prepared, known: Known) -> Reference:
    """Both serial orders; each side alone twice, where it has not been before."""
    heard: list[Heard] = []
    for order in (Order.A_FIRST, Order.B_FIRST, Order.B_ONLY, Order.A_FIRST):
        if len(heard) == 3 and _as_known(prepared, heard[0], known):
            break  # the second time of A was with another B
        one = run(prepared, Course(order=order, points=order is Order.A_FIRST))
        reason = _unusable(one, order)
        if reason:
            return Reference(reason=reason)
        heard.append(one)
    a_first, b_first, b_only, *more = heard
    pairs = [("A", a_first, one) for one in more] + [("B", b_first, b_only)]
    for who, first, other in pairs:
        said = outcomes_differ(_PICKS[who](first), _PICKS[who](other))
        if said is not None:
            return Reference(reason=f"{who} alone is not the same twice: {said}")
    known[prepared.a.name] = _PICKS["A"](a_first)
    names = [{m["name"] for m in one.all("point")} for one in (a_first, *more)]
    return Reference(
        a=_distinct([_PICKS["A"](a_first), _PICKS["A"](b_first)]),
        b=_distinct([_PICKS["B"](b_first), _PICKS["B"](a_first)]),
        again=_distinct([_PICKS["B again"](one) for one in (a_first, b_first, b_only)]),
        points=_points(a_first),
        leaks=frozenset(name for one in (a_first, b_first) for name in _end(one)["off"]),
        drift=len(names[0] ^ names[-1]),
    )


def _as_known(prepared: Prepared, a_first: Heard, known: Known) -> bool:
    """What A gave here is what it gave with another B. It need not: preparing B may draw."""
    before = known.get(prepared.a.name)
    return before is not None and outcomes_differ(_PICKS["A"](a_first), before) is None


def stops(reference: Reference, prepared: Prepared, factor: float = 1.0) -> list[str]:
    """The points of A to stop at, in order: all of them, or those a budget allows.

    First the first and the last point of each situation (which States are off, who has the
    lock), then an even spread.
    """
    budget = _ONCE if prepared.b.reuse is Reuse.ONCE else _BUDGETS[prepared.b.cost]
    if prepared.b.reuse is Reuse.FRESH:
        budget = min(budget, len(prepared.b_subjects) - 2)
    return chosen(reference.points, max(int(budget * factor), 1))


def chosen(points: Sequence[Point], budget: int) -> list[str]:
    """See ``stops``. Deterministic: equal points give equal stops."""
    if len(points) <= budget:
        return [point.name for point in points]
    borders: dict[tuple[tuple[str, ...], bool], list[int]] = {}
    for index, point in enumerate(points):
        borders.setdefault((point.off, point.locked), []).append(index)
    firsts = [indices[0] for indices in borders.values()]
    lasts = [indices[-1] for indices in borders.values()]
    even = [index * len(points) // budget for index in range(budget)]
    wanted = list(dict.fromkeys([*firsts, *lasts, *even]))[:budget]
    return [points[index].name for index in sorted(wanted)]


def _unusable(heard: Heard, order: Order) -> str:
    if heard.last("hung") is not None or heard.end is End.SILENT:
        return f"one after the other ({order.value}) they do not end"
    if heard.end is End.CRASHED:
        return f"one after the other ({order.value}) they crash: signal {heard.signal}"
    broken = heard.last("broken")
    if broken is not None:
        return f"the driver broke: {broken['reason']}"
    end, first = heard.last("end"), heard.last("first")
    if first is None or (end is None and order is not Order.B_ONLY):
        return f"one after the other ({order.value}) says nothing"
    for who, outcome in (("A", (end or {}).get("a") or {}), ("B", first["b"])):
        if "raised" in outcome:
            error = outcome["raised"]
            return f"{who} raises alone: {error['type']}: {error['message'][:200]}"
    return ""


def _end(heard: Heard) -> dict[str, Any]:
    return heard.last("end") or {}


_PICKS: dict[str, Callable[[Heard], Outcome]] = {
    "A": lambda heard: _end(heard)["a"],
    "B": lambda heard: (heard.last("first") or {})["b"],
    "B again": lambda heard: (heard.last("again") or {})["b"],
}


def _points(heard: Heard) -> tuple[Point, ...]:
    return tuple(
        Point(name=m["name"], off=tuple(m["off"]), locked=m["locked"]) for m in heard.all("point")
    )


def _distinct(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    found: list[Outcome] = []
    for outcome in outcomes:
        if all(outcomes_differ(outcome, one) is not None for one in found):
            found.append(outcome)
    return tuple(found)
