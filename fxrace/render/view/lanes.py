"""A trial's record as lanes: spans per thread that nest, moments, and where two threads collided.

Viewers draw spans of one lane as a stack and drop what does not nest. Regions of one thread may
cross (an error leaves the outer one first), so a span that outlives its surroundings is cut at
their end, and a region that the record does not see end lasts until the record does. A collision
has no length of its own; its span is as short as can still be clicked on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fxrace.core.borrowing import states_of
from fxrace.core.timeline import Region, regions
from fxrace.records.document import FindingRow
from fxrace.records.event import Event, Trace

Lane = tuple[str, int]
_MOMENTS = frozenset({"raised", "met", "leak", "config", "rng", "exclusive", "hold", "phase"})
COLLISION, COLLISION_S = "collision", 1e-5
#: Kinds of event that settle where a collision was, the surest first.
_DECISIVE = ("met", "raised", "exclusive", "region")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """``lane`` is the thread's name and ident; times are seconds since the trial began."""

    lane: Lane
    name: str
    kind: str
    start_s: float
    end_s: float
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A point in time. ``state`` is set where a State was found changed or met."""

    lane: Lane
    name: str
    kind: str
    at_s: float
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Collision:
    """Where a finding's two threads met: ``other`` is None where the record names only one."""

    row: FindingRow
    at_s: float
    lane: Lane
    other: Lane | None

    @property
    def name(self) -> str:
        return f"{COLLISION}: {self.row.state or self.row.hazard or self.row.title}"

    @property
    def facts(self) -> dict[str, Any]:
        row = self.row
        return {
            "fingerprint": row.fingerprint, "tier": row.tier.value, "title": row.title,
            "state": row.state, "hazard": row.hazard, "replay": row.replay,
            "suppressed": row.suppressed,
        }  # fmt: skip

    def spans(self) -> Iterator[Span]:
        """The mark in each thread that took part."""
        for lane in filter(None, (self.lane, self.other)):
            yield Span(
                lane=lane, name=self.name, kind=COLLISION, start_s=self.at_s,
                end_s=self.at_s + COLLISION_S, facts=self.facts,
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Lanes:
    """All that is drawn of one trial. Lanes come in the order of their first event."""

    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    moments: tuple[Moment, ...]
    collisions: tuple[Collision, ...]


def lanes(trace: Trace, findings: Iterable[FindingRow]) -> Lanes:
    """Lay out one trial; ``findings`` are those that were seen in it."""
    end = max((event.at_s for event in trace.events), default=0.0)
    # A renamed thread is one thread: its first name stays.
    names: dict[int, Lane] = {}
    for event in trace.events:
        names.setdefault(event.ident, (event.thread, event.ident))
    found = [_collision(row, trace, names) for row in findings]
    collisions = tuple(one for one in found if one is not None)
    spans = (
        *_regions(trace, end),
        *_waits(trace, end),
        *(s for c in collisions for s in c.spans()),
    )
    return Lanes(
        lanes=tuple(names.values()),
        spans=tuple(_nested(replace(span, lane=names[span.lane[1]]) for span in spans)),
        moments=tuple(_moments(trace, names)),
        collisions=collisions,
    )


def _regions(trace: Trace, end: float) -> Iterator[Span]:
    for region in regions(trace):
        yield Span(
            lane=(region.thread, region.ident),
            name=f"{region.kind} {region.name}".strip(),
            kind="region",
            start_s=region.entered_s,
            end_s=end if region.left_s is None else region.left_s,
            facts=_facts(region),
        )


def _facts(region: Region) -> dict[str, Any]:
    facts: dict[str, Any] = {"region": region.kind}
    if states := states_of(region.kind):
        facts["borrows"] = ", ".join(state.name for state in states)
    if region.locks:
        facts["locks held"] = ", ".join(region.locks)
    if region.left is None:
        facts["unfinished"] = True
    if region.stack:
        last = region.stack[-1]
        facts["at"] = f"{last.file}:{last.line} in {last.function}"
    return facts


def _waits(trace: Trace, end: float) -> Iterator[Span]:
    """From asking for a lock to getting it; one that was never got lasts until the end."""
    asked: dict[tuple[int, object], Event] = {}
    for event in trace.of("lock"):
        key = (event.ident, event.data.get("lock"))
        if event.data.get("edge") == "wait":
            asked[key] = event
        elif key in asked:
            yield _wait(asked.pop(key), event.at_s)
    for event in asked.values():
        yield _wait(event, end)


def _wait(event: Event, end_s: float) -> Span:
    return Span(
        lane=(event.thread, event.ident),
        name=f"waits for {event.data.get('lock')}",
        kind="lock wait",
        start_s=event.at_s,
        end_s=end_s,
        facts={"lock": event.data.get("lock"), "held by": event.data.get("owner")},
    )


def _nested(spans: Iterable[Span]) -> Iterator[Span]:
    """In order of their beginnings, each within the span of its lane that it begins in."""
    by_lane: dict[Lane, list[Span]] = {}
    for span in sorted(spans, key=lambda one: (one.start_s, -one.end_s)):
        by_lane.setdefault(span.lane, []).append(span)
    for lane in by_lane.values():
        ends: list[float] = []
        starts = sorted({span.start_s for span in lane})
        after = dict(zip(starts, (*starts[1:], float("inf")), strict=True))
        for span in lane:
            while ends and ends[-1] <= span.start_s:
                ends.pop()
            stop = min([span.end_s, *ends[-1:]])
            if span.kind == COLLISION:
                stop = min(stop, after[span.start_s])
            stop = max(span.start_s, stop)
            ends.append(stop)
            yield replace(span, end_s=stop)


def _moments(trace: Trace, names: Mapping[int, Lane]) -> Iterator[Moment]:
    for event in trace.of(*_MOMENTS):
        told = {name: value for name, value in event.data.items() if _plain(value)}
        if event.kind == "raised":
            told = {"error": f"{event.data['error']['type']}: {event.data['error']['message']}"}
        name = str(told.get("state") or told.get("setting") or told.get("name") or "")
        yield Moment(
            lane=names[event.ident],
            name=f"{event.kind} {name}".strip(),
            kind="state" if event.kind in ("met", "leak", "config", "rng") else event.kind,
            at_s=event.at_s,
            facts=told,
        )


def _collision(row: FindingRow, trace: Trace, names: Mapping[int, Lane]) -> Collision | None:
    """The surest event in which both threads take part; else what the State alone has on record."""
    threads = [side.thread for side in row.sides]
    ranked = [
        (_DECISIVE.index(event.kind), position, event, other)
        for position, event in enumerate(trace.events)
        if event.kind in _DECISIVE and event.thread in threads
        for other in _others(event)
        if other in threads and other != event.thread
    ]
    if ranked:
        _, _, event, other = min(ranked, key=lambda one: one[:2])
        idents = {lane[0]: lane for lane in names.values()}
        return Collision(row=row, at_s=event.at_s, lane=names[event.ident], other=idents.get(other))
    for event in trace.of("leak", "met", "raised"):
        if event.thread in threads or (row.state and event.data.get("state") == row.state):
            return Collision(row=row, at_s=event.at_s, lane=names[event.ident], other=None)
    return None


def _others(event: Event) -> Sequence[str]:
    return [str(other["thread"]) for other in event.data.get("others", ()) if "thread" in other]


def _plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool) or value is None
