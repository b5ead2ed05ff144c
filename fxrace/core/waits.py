"""Who waits for whom, over recorded locks, stacks and autograd's device threads; the circles.

Two sources that know different things: a trial's record names the owner of a lock, stacks show
waits that nobody recorded. The surprise: a thread inside ``backward`` waits for a thread of
autograd's, an edge that no lock tool sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

import networkx

from fxrace.core.frames import is_torch, normalised
from fxrace.records.event import Trace
from fxrace.records.outcome import ThreadStack

DEVICE_THREAD = "autograd's device thread"


class Kind(str, Enum):
    """What sort of thing is waited for. LOCK has at most one holder, who must let go of it."""

    LOCK = "lock"
    DEVICE = "device"
    JOIN = "join"
    SIGNAL = "signal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A thread stands before a lock that another thread owns (None: not known)."""

    waiter: str
    lock: str
    owner: str | None
    kind: Kind = Kind.LOCK

    @property
    def told(self) -> str:
        """What it waits for, in words."""
        if self.kind is Kind.DEVICE:
            return f"waits for {DEVICE_THREAD} ({self.owner})"
        if self.kind is Kind.SIGNAL:
            return f"waits for {self.lock}"
        if self.kind is Kind.JOIN:
            return f"waits for {self.lock} ({self.owner or 'which one is not known'})"
        return f"waits for {self.lock}, held by {self.owner or 'somebody'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hold:
    """A thread is inside a block that a lock guards."""

    owner: str
    lock: str


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


def owned(waits: Iterable[Wait], holds: Iterable[Hold]) -> tuple[Wait, ...]:
    """One wait per thread, its owner filled in from the holds.

    Given several for one thread (``with a, b:`` does not say which of the two it stands before),
    the first that another thread holds counts: those before it are the thread's own by then.
    """
    holders = {hold.lock: hold.owner for hold in holds}
    best: dict[str, Wait] = {}
    for wait in waits:
        full = replace(wait, owner=wait.owner or holders.get(wait.lock))
        known = best.get(wait.waiter)
        if known is None or (_helpful(full) and not _helpful(known)):
            best[wait.waiter] = full
    return tuple(best.values())


def _helpful(wait: Wait) -> bool:
    return wait.owner is not None and wait.owner != wait.waiter


def with_device_waits(waits: tuple[Wait, ...], stacks: Iterable[ThreadStack]) -> tuple[Wait, ...]:
    """The waits of all threads, a thread inside ``backward`` included."""
    device = device_waits(stacks, waits)
    inside = {wait.waiter for wait in device}
    return (*(wait for wait in waits if wait.waiter not in inside), *device)


def device_waits(stacks: Iterable[ThreadStack], waits: tuple[Wait, ...]) -> tuple[Wait, ...]:
    """Threads inside ``backward`` (or ``autograd.grad``) wait for autograd's device threads.

    Which device is not in the stack; only device threads that wait themselves can close a
    circle, so the edge goes to those. No lock tool sees this edge.
    """
    by_name = {stack.thread: stack for stack in stacks}
    stuck = [w.waiter for w in waits if w.waiter in by_name and is_foreign(by_name[w.waiter])]
    return tuple(
        Wait(waiter=stack.thread, lock=DEVICE_THREAD, owner=device, kind=Kind.DEVICE)
        for stack in by_name.values()
        if in_backward(stack)
        for device in stuck
        if device != stack.thread
    )


def is_foreign(stack: ThreadStack) -> bool:
    """A thread that Python did not start and that entered Python from autograd's engine."""
    outermost = stack.frames[0] if stack.frames else None
    return outermost is not None and is_torch(outermost)


def in_backward(stack: ThreadStack) -> bool:
    """True for a thread that stands in autograd's engine, waiting for it to finish."""
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
