"""Who waits for whom in a trial that stood still, from its record and its stacks together."""

from __future__ import annotations

from fxrace.core.stand import stack_holds, stack_waits
from fxrace.core.waits import Wait, circle, open_waits, owned, with_device_waits
from fxrace.records.event import Trace
from fxrace.records.outcome import ThreadStack
from fxrace.records.stuck import Edge


def waits_of(
    trace: Trace, stacks: tuple[ThreadStack, ...]
) -> tuple[tuple[Wait, ...], tuple[Wait, ...]]:
    """The closed chain of waits, in order (empty when there is none), and all waits."""
    named = owned((*open_waits(trace), *stack_waits(stacks)), stack_holds(stacks))
    waits = with_device_waits(named, stacks)
    return circle(waits), waits


def edges_of(trace: Trace, stacks: tuple[ThreadStack, ...]) -> tuple[Edge, ...]:
    """The circle with the stack of each waiter, or all waits where no circle closes."""
    ring, waits = waits_of(trace, stacks)
    frames = {stack.thread: stack.frames for stack in stacks}
    return tuple(
        Edge(
            waiter=wait.waiter,
            waits_for=wait.lock,
            held_by=wait.owner,
            stack=frames.get(wait.waiter, ()),
        )
        for wait in ring or waits
    )
