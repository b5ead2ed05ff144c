"""Who waits for whom over the locks that a trial recorded, and where that closes a circle."""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.records.event import Trace


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A thread stands before a lock that another thread owns (None: not known)."""

    waiter: str
    lock: str
    owner: str | None


def open_waits(trace: Trace) -> tuple[Wait, ...]:
    """The waits that had begun and not ended when the record stopped."""
    waiting: dict[str, Wait] = {}
    for event in trace.of("lock"):
        if event.data["edge"] == "wait":
            waiting[event.thread] = Wait(
                waiter=event.thread, lock=event.data["lock"], owner=event.data["owner"]
            )
        else:
            waiting.pop(event.thread, None)
    return tuple(waiting.values())


def circle(waits: tuple[Wait, ...]) -> tuple[Wait, ...]:
    """The waits that form a closed chain waiter -> owner -> ..., in order; empty when none do."""
    by_waiter = {wait.waiter: wait for wait in waits}
    for start in by_waiter:
        chain: list[Wait] = []
        at: str | None = start
        while at is not None and at in by_waiter and by_waiter[at] not in chain:
            chain.append(by_waiter[at])
            at = by_waiter[at].owner
        if chain and at == start:
            return tuple(chain)
    return ()
