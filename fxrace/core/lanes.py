"""A Trace as a timeline to draw: a lane per thread, regions and lock waits as spans, marks.

The surprise: the longest record is the least readable, so of many spans the short and deep ones
go first, and the timeline says how many went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


def _spans(trace: Trace, lane_of: dict[int, int], texts: _Texts) -> Iterator[Span]:
    """Regions, then waits: a wait lies one deeper than the regions that its thread is in."""
    deep: dict[int, list[int]] = {}
    for region in regions(trace):
        yield _span(region, lane_of[region.ident], texts)
        for position, step in ((region.entered, 1), (region.left, -1)):
            if position is not None:
                deep.setdefault(region.ident, []).append(step * (position + 1))
    waiting: dict[tuple[int, str], tuple[Event, int]] = {}
    kind = texts.number(LOCK_WAIT)
    for position, event in enumerate(trace.events):
        if event.kind != "lock":
            continue
        key = (event.ident, str(event.data.get("lock")))
        if event.data.get("edge") == "wait":
            open_ = sum(_sign(p) for p in deep.get(event.ident, ()) if abs(p) <= position)
            waiting[key] = event, open_
        elif key in waiting:
            yield _wait(*waiting.pop(key), event.at_s, lane_of, (kind, texts))
    for event, open_ in waiting.values():
        yield _wait(event, open_, None, lane_of, (kind, texts))


def _sign(number: int) -> int:
    return 1 if number > 0 else -1


def _span(region: Region, lane: int, texts: _Texts) -> Span:
    end = None if region.left_s is None else round(region.left_s, 6)
    kind, name = texts.number(region.kind), texts.number(region.name)
    return Span(lane, round(region.entered_s, 6), end, region.depth, kind, name)


def _wait(
    event: Event,
    depth: int,
    end_s: float | None,
    lane_of: dict[int, int],
    named: tuple[int, _Texts],
) -> Span:
    kind, texts = named
    owner = event.data.get("owner")
    told = f"{event.data.get('lock')}, held by {owner}" if owner else str(event.data.get("lock"))
    end = None if end_s is None else round(end_s, 6)
    begin = round(event.at_s, 6)
    return Span(lane_of[event.ident], begin, end, depth, kind, texts.number(told))


def _longest(spans: list[Span], most: int) -> tuple[Span, ...]:
    if len(spans) <= most:
        return tuple(spans)
    ranked = sorted(spans, key=lambda s: (s.end_s is not None, s.depth, s.begin_s - (s.end_s or 0)))
    return tuple(sorted(ranked[:most], key=lambda span: span.begin_s))


def _marks(trace: Trace, lane_of: dict[int, int]) -> Iterator[Mark]:
    """What went wrong first, since only so many marks are kept."""
    for event in sorted(trace.of(*_MARKS), key=lambda event: list(_MARKS).index(event.kind)):
        yield Mark(lane_of[event.ident], round(event.at_s, 6), _MARKS[event.kind], _told(event))


def _told(event: Event) -> str:
    data = event.data
    told = {
        "raised": lambda: "{type}: {message}".format_map(_Blank(data.get("error", {}))),
        "leak": lambda: f"{data.get('state')} left at {data.get('after')}",
        "met": lambda: f"met {data.get('state')}",
        "phase": lambda: str(data.get("name")),
        "step": lambda: f"step {data.get('step')} of drafter {data.get('drafter')}",
    }[event.kind]()
    return told[:TEXT]


class _Blank(dict[str, object]):
    """A field that an event lacks is told as nothing."""

    def __missing__(self, key: str) -> str:
        return ""
