"""A Trace as a timeline to draw: a lane per thread, regions and lock waits as spans, marks.

The surprise: the longest record is the least readable, so of many spans the short and deep ones
go first, and the timeline says how many went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fxrace.core.timeline import Region, regions
from fxrace.records.event import Event, Trace
from fxrace.records.page import Lane, LaneKind, Mark, MarkKind, Span, Timeline

LOCK_WAIT = "lock wait"
SPANS, MARKS, TEXT = 1500, 200, 200
_UNSTARTED = "Dummy-"
_MARKS = {
    "raised": MarkKind.RAISED,
    "leak": MarkKind.LEAK,
    "met": MarkKind.MET,
    "phase": MarkKind.PHASE,
    "step": MarkKind.STEP,
}


class _Texts:
    """Gives each text a number, the same text the same one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text[:TEXT], len(self._numbers))

    def every(self) -> tuple[str, ...]:
        return tuple(self._numbers)


def timeline(
    trace: Trace, collisions: Iterable[tuple[int, float, str]] = (), most: int = SPANS
) -> Timeline:
    """``collisions`` are (ident of the thread, seconds, what), as ``moments.collision`` finds them.

    An empty Trace is a timeline without lanes.
    """
    idents = tuple(dict.fromkeys(event.ident for event in trace.events))
    lane_of = {ident: number for number, ident in enumerate(idents)}
    texts = _Texts()
    every = sorted(_spans(trace, lane_of, texts), key=lambda span: span.begin_s)
    shown = _longest(every, most)
    marks = [
        *(Mark(lane_of[i], at, MarkKind.COLLISION, told[:TEXT]) for i, at, told in collisions),
        *_marks(trace, lane_of),
    ]
    return Timeline(
        lanes=tuple(_lanes(trace, idents)),
        spans=shown,
        marks=tuple(sorted(marks[:MARKS], key=lambda mark: mark.at_s)),
        texts=texts.every(),
        end_s=round(max((event.at_s for event in trace.events), default=0.0), 6),
        left_out=len(every) - len(shown),
    )


def _lanes(trace: Trace, idents: Iterable[int]) -> Iterator[Lane]:
    """A thread is called as it was called last: names are given after the start."""
    names = {event.ident: event.thread for event in trace.events}
    engine = {e.ident for e in trace.of("sync") if _from_engine(e)}
    for ident in idents:
        name = names[ident]
        kind = LaneKind.MAIN if name == "MainThread" else LaneKind.THREAD
        foreign = ident in engine or name.startswith(_UNSTARTED)
        yield Lane(name[:TEXT], ident, LaneKind.DEVICE if foreign else kind)


def _from_engine(event: Event) -> bool:
    """True where autograd's engine hands a backward to this thread."""
    data = event.data
    return (
        data.get("what") == "backward"
        and data.get("edge") == "acquire"
        and not str(data.get("key")).endswith(":return")
    )


def _spans(trace: Trace, lane_of: Mapping[int, int], texts: _Texts) -> Iterator[Span]:
    every = regions(trace)
    for region in every:
        kind, name = texts.number(region.kind), texts.number(region.name)
        begin, end = round(region.entered_s, 6), _rounded(region.left_s)
        yield Span(lane_of[region.ident], begin, end, region.depth, kind, name)
    kind = texts.number(LOCK_WAIT)
    for event, end_s, depth in _waits(trace, every):
        name, begin = texts.number(_awaited(event)), round(event.at_s, 6)
        yield Span(lane_of[event.ident], begin, _rounded(end_s), depth, kind, name)


def _waits(trace: Trace, every: Sequence[Region]) -> Iterator[tuple[Event, float | None, int]]:
    """How each wait began, when it ended, and how many regions its thread was in."""
    waiting: dict[tuple[int, str], tuple[Event, int]] = {}
    for position, event in enumerate(trace.events):
        if event.kind != "lock":
            continue
        key = event.ident, str(event.data.get("lock"))
        if event.data.get("edge") == "wait":
            inside = (one for one in every if one.ident == event.ident and _open(one, position))
            waiting[key] = event, sum(1 for _ in inside)
        elif key in waiting:
            begun, depth = waiting.pop(key)
            yield begun, event.at_s, depth
    for begun, depth in waiting.values():
        yield begun, None, depth


def _open(region: Region, position: int) -> bool:
    return region.entered < position and (region.left is None or region.left > position)


def _awaited(event: Event) -> str:
    lock, owner = event.data.get("lock"), event.data.get("owner")
    return f"{lock}, held by {owner}" if owner else str(lock)


def _rounded(at_s: float | None) -> float | None:
    return None if at_s is None else round(at_s, 6)


def _longest(spans: list[Span], most: int) -> tuple[Span, ...]:
    if len(spans) <= most:
        return tuple(spans)
    ranked = sorted(spans, key=lambda s: (s.end_s is not None, s.depth, s.begin_s - (s.end_s or 0)))
    return tuple(sorted(ranked[:most], key=lambda span: span.begin_s))


def _marks(trace: Trace, lane_of: Mapping[int, int]) -> Iterator[Mark]:
    """What went wrong first, since only so many marks are kept."""
    for event in sorted(trace.of(*_MARKS), key=lambda event: list(_MARKS).index(event.kind)):
        yield Mark(lane_of[event.ident], round(event.at_s, 6), _MARKS[event.kind], _told(event))


def _told(event: Event) -> str:
    data = event.data
    if event.kind == "raised":
        error = data.get("error", {})
        told = f"{error.get('type', '')}: {error.get('message', '')}"
    elif event.kind == "leak":
        told = f"{data.get('state')} left at {data.get('after')}"
    elif event.kind == "met":
        told = f"met {data.get('state')}"
    elif event.kind == "step":
        told = f"step {data.get('step')} of drafter {data.get('drafter')}"
    else:
        told = str(data.get("name"))
    return told[:TEXT]
