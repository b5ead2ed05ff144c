"""Builds Evidence out of a few lines, for tests of detectors and of the judge."""

from __future__ import annotations

from typing import Any

from fxrace.core.curve import Point, Reference
from fxrace.core.evidence import Evidence
from fxrace.records.event import Event, Trace
from fxrace.records.outcome import Ending, Stop, ThreadStack
from fxrace.records.trial import Trial

REFERENCE = Reference(
    curve={(d, s): Point(loss=4.0 - s / 2, grad_norm=1.0) for d in (0, 1) for s in (0, 1)}
)


def event(kind: str, thread: str = "MainThread", **data: Any) -> Event:
    return Event(at_s=0.0, thread=thread, ident=1, kind=kind, data=data)


def step(drafter: int, number: int, loss: float | None = None, grad_norm: float = 1.0) -> Event:
    value = REFERENCE.curve[drafter, number].loss if loss is None else loss
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
