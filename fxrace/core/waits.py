"""Who waits for whom, over recorded locks and autograd's device threads, and in which circle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import networkx

from fxrace.core.frames import is_torch, normalised
from fxrace.records.event import Trace
from fxrace.records.outcome import ThreadStack

DEVICE_THREAD = "autograd's device thread"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A thread stands before a lock that another thread owns (None: not known)."""

    waiter: str
    lock: str
    owner: str | None

    @property
    def told(self) -> str:
        """What it waits for, in words."""
        if self.lock == DEVICE_THREAD:
            return f"waits for {DEVICE_THREAD} {self.owner}"
        return f"waits for {self.lock}, held by {self.owner or 'somebody'}"


def open_waits(trace: Trace) -> tuple[Wait, ...]:
    """The waits that had begun and not ended when the record stopped.

    The owner is the thread that got the lock last, else the one named when the wait began.
    """
    waiting: dict[str, Wait] = {}
    for event in trace.of("lock"):
        lock = event.data["lock"]
        if event.data["edge"] == "wait":
            waiting[event.thread] = Wait(waiter=event.thread, lock=lock, owner=event.data["owner"])
            continue
        waiting.pop(event.thread, None)
        for name, wait in waiting.items():
            if wait.lock == lock:
                waiting[name] = replace(wait, owner=event.thread)
    return tuple(waiting.values())


def device_waits(stacks: Iterable[ThreadStack], waits: tuple[Wait, ...]) -> tuple[Wait, ...]:
    """Threads inside ``backward`` (or ``autograd.grad``) wait for autograd's device threads.

    Which device is not in the stack; only device threads that wait themselves can close a
    circle, so the edge goes to those. No lock tool sees this edge.
    """
    by_name = {stack.thread: stack for stack in stacks}
    stuck = [w.waiter for w in waits if w.waiter in by_name and _foreign(by_name[w.waiter])]
    return tuple(
        Wait(waiter=stack.thread, lock=DEVICE_THREAD, owner=device)
        for stack in by_name.values()
        if _in_backward(stack)
        for device in stuck
        if device != stack.thread
    )


def _foreign(stack: ThreadStack) -> bool:
    """A thread that Python did not start and that entered Python from autograd's engine."""
    outermost = stack.frames[0] if stack.frames else None
    return outermost is not None and is_torch(outermost)


def _in_backward(stack: ThreadStack) -> bool:
    innermost = stack.frames[-1] if stack.frames else None
    return innermost is not None and normalised(innermost) == "graph.py:_engine_run_backward"


def circle(waits: tuple[Wait, ...]) -> tuple[Wait, ...]:
    """The waits that form a closed chain waiter -> owner -> ..., in order; empty when none do."""
    graph = networkx.DiGraph()
    for wait in waits:
        if wait.owner is not None:
            graph.add_edge(wait.waiter, wait.owner, wait=wait)
    try:
        found = networkx.find_cycle(graph)
    except networkx.NetworkXNoCycle:
        return ()
    return tuple(graph.edges[waiter, owner]["wait"] for waiter, owner, *_ in found)
