"""The decisive events of a finding, at most six, with the swap: who came where too early.

Taken from the record of a trial that shows it; where there is none (the explorer forces its
meetings), from the finding itself. The surprise: which of two events is the swap follows from the
order of the record alone. It is the later entry, for without it the first would have ended alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fxrace.core.timeline import Region, regions
from fxrace.records.document import FindingRow
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Side, Tier
from fxrace.records.page import Moment

#: The most decisive events, and the most regions of a thread that they are sought among.
MOST, SEARCHED = 6, 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Collision:
    """Two regions of the two threads of a finding, open at one time. ``late`` is the swap."""

    early: Region
    late: Region


def collision(trace: Trace, finding: FindingRow) -> Collision | None:
    """The first meeting of the two sides before the first error, or None.

    A side whose kind of region its thread never entered (a plain call) may be in any.
    """
    if len(finding.sides) < 2:
        return None
    every = regions(trace)
    ours, theirs = (_of(side, every) for side in finding.sides[:2])
    met = [(x, y) for x in ours for y in theirs if x.ident != y.ident and _together(x, y)]
    if not met:
        return None
    limit = next((i for i, event in enumerate(trace.events) if event.kind == "raised"), None)
    best = min(met, key=lambda pair: _distance(pair, limit))
    early, late = sorted(best, key=lambda region: region.entered)
    return Collision(early=early, late=late)


def moments(trace: Trace, finding: FindingRow) -> tuple[Moment, ...]:
    """The decisive events in order; from the finding alone where the record does not show them."""
    found = collision(trace, finding)
    if found is None:
        return told_moments(finding)
    every = sorted(_events(trace, finding, found), key=lambda pair: pair[0])
    kept = every if len(every) <= MOST else [*every[: MOST - 1], every[-1]]
    return tuple(moment for _, moment in kept)


def told_moments(finding: FindingRow) -> tuple[Moment, ...]:
    """The order that a finding without a record claims: one stands, the other acts, it shows."""
    if len(finding.sides) < 2:
        return ()
    first, second = finding.sides[:2]
    value = finding.value
    shown = [
        Moment(side=0, told=_did(first.region, first.access)),
        Moment(side=1, told=_did(second.region, second.access), swap=True),
    ]
    if value.during:
        shown.insert(1, Moment(side=0, told=f"State is now {value.during}"))
    if finding.symptoms:
        shown.append(Moment(side=1, told=finding.symptoms[0]))
    return tuple(shown)


def _events(trace: Trace, finding: FindingRow, found: Collision) -> Iterator[tuple[int, Moment]]:
    """(position in the record, event), in no order."""
    sides = {side.thread: number for number, side in reversed(list(enumerate(finding.sides[:2])))}
    for region in (found.early, found.late):
        side = sides[region.thread]
        what = f"{region.kind} of {region.name}"
        swap = region is found.late
        yield (
            region.entered,
            Moment(side=side, told=f"enters {what}", at_s=region.entered_s, swap=swap),
        )
        if region.left is not None:
            yield region.left, Moment(side=side, told=f"leaves {what}", at_s=region.left_s)
    for position, event in enumerate(trace.events):
        late = position > found.late.entered and finding.tier is Tier.FAILURE
        if late and event.kind == "raised" and event.thread in sides:
            told = _error(event)
            yield position, Moment(side=sides[event.thread], told=told, at_s=event.at_s)
    leak = next((pair for pair in enumerate(trace.events) if _leaks(pair[1], finding)), None)
    if leak is not None:
        position, event = leak
        told = f"{event.data.get('state')} stays {event.data.get('after')}"
        yield position, Moment(side=sides.get(event.thread, 0), told=told, at_s=event.at_s)


def _of(side: Side, every: tuple[Region, ...]) -> list[Region]:
    """The regions of this side's thread, of its kind where there are such."""
    own = [region for region in every if region.thread == side.thread]
    return ([region for region in own if region.kind == side.region] or own)[:SEARCHED]


def _together(first: Region, second: Region) -> bool:
    early, late = sorted((first, second), key=lambda region: region.entered)
    return early.left is None or late.entered < early.left


def _distance(pair: Sequence[Region], limit: int | None) -> tuple[bool, int, int]:
    """Smaller is likelier to be the cause: before the error, outermost, first."""
    late = max(region.entered for region in pair)
    return limit is not None and late > limit, sum(region.depth for region in pair), late


def _leaks(event: Event, finding: FindingRow) -> bool:
    return (
        event.kind == "leak" and finding.state is not None
        and event.data.get("state") == finding.state
    )  # fmt: skip


def _error(event: Event) -> str:
    error = event.data.get("error", {})
    root = [error, *error.get("causes", ())][-1]
    return f"raises {root.get('type')}: {root.get('message')}"[:300]


def _did(region: str, access: str) -> str:
    return f"in {region}: {access}" if region else access
