"""From what exploring found to what a script must bring about.

A script shows one symptom. An exception is the plainest to see, then another result, then what
was left behind. The surprise: a ``difference`` names its places as one text (that is what a
reader wants), so they are read from it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fxrace.core.states import by_name
from fxrace.probe.explore.cause import Cause
from fxrace.probe.explore.choices import Stop
from fxrace.probe.explore.emit import NAMES, CannotEmit, Collision, Shows, placed
from fxrace.probe.explore.sources import source_of

_SHOWN = {"raised": Shows.RAISED, "wrong": Shows.WRONG, "left": Shows.LEFT}
_HUNG = frozenset({"deadlock", "standing", "endless", "hung"})
_AT = re.compile(r"([AB]) at (\S+)")


def of_cause(a: str, b: str, start: int, stops: Sequence[Stop], cause: Cause) -> Collision:
    """Of the least schedule (``minimise``) and the cause it shows when played."""
    for kind, shows in _SHOWN.items():
        for symptom in cause.symptoms:
            if symptom.kind == kind:
                attribute = symptom.what.partition(" is ")[0] if kind == "left" else ""
                return _made(a, b, start, stops, shows, symptom.thread, attribute)
    if any(symptom.kind in _HUNG for symptom in cause.symptoms):
        return _made(a, b, start, stops, Shows.HUNG, "B", "")
    raise CannotEmit("a process that is lost has nothing to look at")


def of_difference(data: Mapping[str, Any]) -> Collision:
    """Of a ``difference`` event. Raises CannotEmit where no script can show it."""
    stops = _stops(data)
    if not stops:
        raise CannotEmit(f"{data['point']!r} names no place to stop at")
    wrong = str(data["wrong"]).upper()
    start = stops[0].thread
    symptom = str(data.get("symptom", ""))
    if symptom.partition(" ")[0] in _HUNG or wrong == "HUNG":
        return _made(data["a"], data["b"], start, stops, Shows.HUNG, "B", "")
    if wrong in NAMES:
        raised = data.get("error") is not None or symptom.startswith("raised ")
        shows = Shows.RAISED if raised else Shows.WRONG
        return _made(data["a"], data["b"], start, stops, shows, wrong, "")
    state = by_name(str(data.get("state") or ""))
    if state is None:
        raise CannotEmit("what was left behind is no State of the registry")
    return _made(data["a"], data["b"], start, stops, Shows.LEFT, "A", state.attribute)


def _stops(data: Mapping[str, Any]) -> tuple[Stop, ...]:
    point, b_point = str(data["point"]), str(data.get("b_point") or "")
    named = _AT.findall(point)
    if named:
        return tuple(Stop(NAMES.index(who), at, 1 - NAMES.index(who)) for who, at in named)
    found = (Stop(0, point, 1),) if point else ()
    return (*found, Stop(1, b_point, 0)) if b_point else found


def _made(
    a: str,
    b: str,
    start: int,
    stops: Sequence[Stop],
    shows: Shows,
    who: str,
    attribute: str,
) -> Collision:
    return Collision(
        title=f"{a} in one thread (A), {b} in another (B): {_told(shows, who, attribute)}.",
        a=source_of(a, "a"),
        b=source_of(b, "a" if a == b else "b"),
        start=NAMES[start],
        stops=placed(stops),
        shows=shows,
        who=who,
        attribute=attribute,
    )


def _told(shows: Shows, who: str, attribute: str) -> str:
    if shows is Shows.LEFT:
        return f"{attribute.replace(':', '.')} is not put back"
    if shows is Shows.HUNG:
        return "they never end"
    return f"{who} raises" if shows is Shows.RAISED else f"{who} gets another result"
