"""Builds Evidence out of a few lines, for tests of detectors and of the judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

from fxrace.core.curve import Curve, Point, Reference
from fxrace.core.evidence import Evidence
from fxrace.records.event import Event, Trace
from fxrace.records.outcome import Ending, Stop, ThreadStack
from fxrace.records.trial import Trial

REFERENCE = Reference(
    curve=Curve(
        points={(d, s): Point(loss=4.0 - s / 2, grad_norm=1.0) for d in (0, 1) for s in (0, 1)}
    )
)


def event(kind: str, thread: str = "MainThread", **data: Any) -> Event:
    """One event. A thread has one ident, made from its name."""
    return Event(at_s=0.0, thread=thread, ident=crc32(thread.encode()), kind=kind, data=data)


def region(thread: str, edge: str, kind: str, number: int, at_s: float = 0.0) -> Event:
    """One border of a region; ``number`` tells which."""
    data = {"edge": edge, "region": kind, "name": "f", "number": number}
    return replace(event("region", thread, **data), at_s=at_s)


def span(thread: str, kind: str, number: int, at_s: float = 0.0) -> tuple[Event, Event]:
    """A region with nothing inside, 1 ms long."""
    enter = region(thread, "enter", kind, number, at_s)
    return enter, region(thread, "exit", kind, number, at_s + 0.001)


def sync(thread: str, edge: str, key: str, what: str = "lock") -> Event:
    return event("sync", thread, edge=edge, key=key, what=what)


def locked(thread: str, lock: str, *inside: Event) -> tuple[Event, ...]:
    """These events of a thread, with a named lock held round them."""
    key = f"lock:{lock}"
    return (sync(thread, "acquire", key), *inside, sync(thread, "release", key))


def step(drafter: int, number: int, loss: float | None = None, grad_norm: float = 1.0) -> Event:
    value = REFERENCE.curve.points[drafter, number].loss if loss is None else loss
    return event(
        "step", f"drafter-{drafter}", drafter=drafter, step=number, loss=value, grad_norm=grad_norm
    )


STEPS = tuple(step(d, s) for d in (0, 1) for s in (0, 1))
END = event("phase", name="end")


def evidence(
    *events: Event,
    stop: Stop = Stop.EXITED,
    code: int = 0,
    stacks: tuple[ThreadStack, ...] = (),
    reference: Reference | None = REFERENCE,
    unreadable: int = 0,
    complete: bool = True,
) -> Evidence:
    """A trial with these events, ended by a ``phase end`` unless ``complete`` is False."""
    return Evidence(
        trial=Trial(target="t:run", knobs={"locking": "none"}),
        trace=Trace(events=(*events, END) if complete else events, unreadable=unreadable),
        ending=Ending(stop=stop, code=code, duration_s=1.0, overhead_s=0.0, stacks=stacks),
        reference=reference,
    )
