"""T0: the trial stopped giving signs of life. A closed chain of waits makes it a deadlock."""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.rings import waits_of
from fxrace.core.waits import Kind, Wait
from fxrace.records.finding import Finding, Frame, Side, Tier
from fxrace.records.outcome import Stop, ThreadStack


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding: the circle when there is one, else who waits and where."""
    if evidence.ending.stop is not Stop.SILENT:
        return ()
    taken = evidence.ending.stacks
    ring, waits = waits_of(evidence.trace, taken)
    stacks = {stack.thread: stack for stack in taken}
    shown = ring or tuple(wait for wait in waits if wait.kind in (Kind.LOCK, Kind.DEVICE))
    sides = tuple(_side(wait, shown, stacks) for wait in shown) or _everyone(stacks)
    locks = tuple(sorted({wait.lock for wait in shown}))
    deepest = tuple(part for side in sides[:2] for part in site(side.stack))
    what = "deadlock" if ring else "hang"
    return (
        Finding(
            fingerprint=fingerprint(Tier.FAILURE, state=None, key=(what, *(locks or deepest))),
            title=f"{what}: {_story(shown)}",
            tier=Tier.FAILURE,
            state=None,
            hazard=None,
            sides=sides,
            symptoms=(f"no sign of life for the silence limit; {len(stacks)} stacks taken",),
        ),
    )


def _story(waits: tuple[Wait, ...]) -> str:
    if not waits:
        return "no thread waits for a lock that fxrace knows"
    return "; ".join(f"{wait.waiter} {wait.told}" for wait in waits)


def _side(wait: Wait, waits: tuple[Wait, ...], stacks: dict[str, ThreadStack]) -> Side:
    return Side(
        thread=wait.waiter,
        region="wait",
        access=wait.told,
        stack=_stack(stacks.get(wait.waiter)),
        locks_held=tuple(
            other.lock for other in waits if other.owner == wait.waiter and other.kind is Kind.LOCK
        ),
    )


def _everyone(stacks: dict[str, ThreadStack]) -> tuple[Side, ...]:
    return tuple(
        Side(thread=name, region="wait", access="stands still", stack=stack.frames)
        for name, stack in stacks.items()
    )


def _stack(stack: ThreadStack | None) -> tuple[Frame, ...]:
    return stack.frames if stack is not None else ()


detector = Detector(find=find)
