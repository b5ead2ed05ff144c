"""Interference: A is stopped at every point, B runs to its end, A goes on; what differs?

``explore`` does one ordered pair in a process with one thread, which has imported torch and is
thrown away afterwards. It takes the references, screens all stops in one run, confirms every
group of equal effects with runs of one stop, finds the cause by putting States back one by one,
and then lets the two overlap without nesting. It says ``difference`` for everything confirmed
and one ``pair`` at the end.

Deterministic: budgets are counted in stops and follow from the operations' cost classes. The
surprise: nothing of a pair runs in the process itself except the preparing of subjects.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fxrace.probe.explore.interference_cause import Cause, Proof, cause_of
from fxrace.probe.explore.interference_course import Prepared
from fxrace.probe.explore.interference_fork import Heard
from fxrace.probe.explore.interference_reference import Known, reference, stops
from fxrace.probe.explore.interference_search import (
    CRASHED,
    HUNG,
    LEFT,
    Group,
    Screened,
    Search,
    confirmed,
    shape,
)
from fxrace.probe.explore.interference_told import difference
from fxrace.probe.explore.interference_two import meetings

Emit = Callable[..., None]
_GROUPS = 6
_SITUATIONS = 5
_HALVINGS = 2


@dataclass(kw_only=True, slots=True)
class Pair:
    """What is known of one pair so far."""

    search: Search
    emit: Emit
    differences: int = 0
    confirmed: set[tuple[str, str]] = field(default_factory=set)
    unconfirmed: int = 0
    causes: dict[tuple[str, tuple[str, ...]], Cause] = field(default_factory=dict)


def explore(prepared: Prepared, emit: Emit, known: Known, *, factor: float = 1.0) -> None:
    """Explore one pair. ``known`` remembers what A gives alone, over pairs of the same A."""
    began = time.monotonic()
    ref = reference(prepared, known)
    what = f"{prepared.a.name} {prepared.b.name}"
    search = Search(prepared, ref, beat=lambda: emit("beat", what=what))
    if ref.reason:
        emit("pair", **_summary(search, None, Screened(), "inconclusive", ref.reason, began))
        return
    pair = Pair(search=search, emit=emit)
    wanted = stops(ref, prepared, factor)
    screened = search.screen(wanted)
    for group in screened.groups[:_GROUPS]:
        _settle(pair, group)
    pair.differences += sum(g.count for g in screened.groups[_GROUPS:] if g.party != LEFT)
    _end_symptoms(pair, screened, wanted)
    _overlaps(pair)
    verdict, reason = _verdict(pair, screened)
    emit("pair", **_summary(search, pair, screened, verdict, reason, began))


def _settle(pair: Pair, group: Group) -> None:
    """Confirm a group; stops with other States off count as the same cause if it heals them too."""
    situations = list(group.stops.items())
    off, names = situations[0]
    cause = _confirm(pair, names[0], group.party, len(names), off)
    for off, names in situations[1:_SITUATIONS]:
        without = None if cause is None else cause.course(off)
        if without and not pair.search.shows(names[0], group.party, group.symptom, **without):
            pair.differences += len(names)
            continue
        found = _confirm(pair, names[0], group.party, len(names), off)
        cause = cause or found
    pair.differences += sum(len(n) for _, n in situations[_SITUATIONS:] if group.party != LEFT)


def _confirm(pair: Pair, name: str, wanted: str, count: int, off: tuple[str, ...]) -> Cause | None:
    """Runs with this stop alone: three, or two that show nothing. The cause of what was wanted."""
    seen: dict[str, list[tuple[str, Heard]]] = {}
    runs = 0
    for heard, parties in confirmed(pair.search, name):
        runs += 1
        for party, symptom in parties.items():
            seen.setdefault(party, []).append((symptom, heard))
    if wanted not in seen and wanted != LEFT:
        pair.unconfirmed += 1
    for party, shown in seen.items():
        _tell(pair, name, "", party, shown, runs, count if party == wanted else 1, off)
    return pair.causes.get((wanted, off))


def _tell(
    pair: Pair,
    name: str,
    b_point: str,
    party: str,
    shown: list[tuple[str, Heard]],
    runs: int,
    count: int,
    off: tuple[str, ...],
) -> None:
    """One confirmed difference, with its cause. The same one again only counts."""
    symptom, heard = shown[0]
    pair.differences += count
    if (party, shape(symptom)) in pair.confirmed and (party, off) in pair.causes:
        return
    pair.confirmed.add((party, shape(symptom)))
    cause = _cause(pair, name, b_point, party, shown[0], off)
    pair.emit(
        "difference",
        **difference(
            pair.search.prepared,
            name=name,
            b_point=b_point,
            party=party,
            symptom=symptom,
            count=count,
            shown=(len(shown), runs),
            heard=heard,
            cause=cause,
        ),
    )


def _cause(
    pair: Pair, name: str, b_point: str, party: str, shown: tuple[str, Heard], off: tuple[str, ...]
) -> Cause:
    if party in (HUNG, CRASHED):
        return Cause(state=None, proof=Proof.NONE, others=off)
    symptom, heard = shown
    hint = next((cause.state for (p, _), cause in pair.causes.items() if p == party), None)
    found = cause_of(pair.search, name, party, symptom, heard, hint, b_point)
    pair.causes[party, off] = found
    return found


def _end_symptoms(pair: Pair, screened: Screened, wanted: list[str]) -> None:
    """What A or the process came to after screening, where no confirmed stop explains it."""
    for party in screened.parties:
        if any(p == party for p, _ in pair.confirmed):
            continue
        left = list(wanted)
        for _ in range(_HALVINGS):
            name = pair.search.halved(left, party)
            if name is None:
                pair.unconfirmed += not any(p == party for p, _ in pair.confirmed)
                break
            off = next(p.off for p in pair.search.reference.points if p.name == name)
            _confirm(pair, name, party, 1, off)
            like = {p.name for p in pair.search.reference.points if p.off == off}
            left = [one for one in left if one not in like]
            if not left:
                break


def _overlaps(pair: Pair) -> None:
    """Two-point schedules; equal outcomes of one pair are one difference."""
    for a_point, b_point in meetings(pair.search):
        heard = pair.search.single(a_point, b_until=b_point)
        parties = pair.search.parties(heard)
        new = {p: s for p, s in parties.items() if (p, shape(s)) not in pair.confirmed}
        pair.differences += bool(parties)
        if not new or heard.last("inside") is None:
            continue
        again = [pair.search.single(a_point, b_until=b_point) for _ in range(2)]
        off = tuple((heard.last("inside") or {}).get("off", ()))
        for party, symptom in new.items():
            shown = [(symptom, heard)]
            shown += [(symptom, one) for one in again if party in pair.search.parties(one)]
            _tell(pair, a_point, b_point, party, shown, 3, 1, off)


def _verdict(pair: Pair, screened: Screened) -> tuple[str, str]:
    if pair.confirmed:
        return "finding", ""
    if pair.unconfirmed:
        return "inconclusive", "a difference of screening did not come again at one stop alone"
    if screened.tried and len(screened.blocked) >= len(screened.tried):
        return "blocked", "B waited for a lock of A wherever A was stopped"
    return "safe", ""


def _summary(
    search: Search, pair: Pair | None, screened: Screened, verdict: str, reason: str, began: float
) -> dict[str, Any]:
    points = len(search.reference.points)
    all_tried = points > 0 and {p.name for p in search.reference.points} <= screened.tried
    return {
        "a": search.prepared.a.name,
        "b": search.prepared.b.name,
        "grain": "call",
        "strategy": "interference",
        "points": points,
        "stopped": len(screened.tried),
        "schedules": search.runs,
        "preemption_bound": 1,
        "exhausted": all_tried and not screened.slips and not screened.blocked,
        "slips": screened.slips,
        "blocked": len(screened.blocked),
        "drift": search.reference.drift,
        "differences": 0 if pair is None else pair.differences,
        "unconfirmed": 0 if pair is None else pair.unconfirmed,
        "verdict": verdict,
        "reason": reason,
        "duration_s": round(time.monotonic() - began, 3),
    }
