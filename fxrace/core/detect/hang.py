"""T0: the trial stopped giving signs of life. A closed chain of waits makes it a deadlock."""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.waits import Wait, circle, open_waits
from fxrace.records.finding import Finding, Frame, Side, Tier
from fxrace.records.outcome import Stop, ThreadStack


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding: the circle when there is one, else who waits and where."""
    if evidence.ending.stop is not Stop.SILENT:
        return ()
    waits = open_waits(evidence.trace)
    ring = circle(waits)
    stacks = {stack.thread: stack for stack in evidence.ending.stacks}
    sides = tuple(_side(wait, stacks) for wait in ring or waits) or _everyone(stacks)
    locks = tuple(sorted({wait.lock for wait in ring or waits}))
    deepest = tuple(part for side in sides[:2] for part in site(side.stack))
    what = "deadlock" if ring else "hang"
    return (
        Finding(
            fingerprint=fingerprint(Tier.FAILURE, state=None, key=(what, *(locks or deepest))),
            title=f"{what}: {_story(ring, waits)}",
            tier=Tier.FAILURE,
            state=None,
            hazard=None,
            sides=sides,
            symptoms=(f"no sign of life for the silence limit; {len(stacks)} stacks taken",),
        ),
    )


def _story(ring: tuple[Wait, ...], waits: tuple[Wait, ...]) -> str:
    if not ring and not waits:
        return "no thread waits for a lock that fxrace knows"
    return ", ".join(
        f"{wait.waiter} waits for {wait.lock} held by {wait.owner or 'somebody'}"
        for wait in ring or waits
    )


def _side(wait: Wait, stacks: dict[str, ThreadStack]) -> Side:
    held = tuple(w for w in (wait.lock,) if w)
    return Side(
        thread=wait.waiter,
        region="wait",
        access=f"waits for {held[0]}, held by {wait.owner or 'somebody'}",
        stack=_stack(stacks.get(wait.waiter)),
    )


def _everyone(stacks: dict[str, ThreadStack]) -> tuple[Side, ...]:
    return tuple(
        Side(thread=name, region="wait", access="stands still", stack=stack.frames)
        for name, stack in stacks.items()
    )


def _stack(stack: ThreadStack | None) -> tuple[Frame, ...]:
    return stack.frames if stack is not None else ()


detector = Detector(find=find)
