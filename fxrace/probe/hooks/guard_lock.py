"""Who waits for the lock of the guard ``one_owner``: such a thread cannot come, whoever holds it.

Dynamo's lock tells of itself; traces, exports and lazy backward compiles take the guard's directly.
"""

from __future__ import annotations

from fxrace.probe.hooks import Detach
from fxrace.probe.participants import participants
from fxrace.probe.watching import Watching

KNOWN = "any torch: the lock is fxrace's own"
AFTER = "fxrace.guards._owner"
NAME = "fxrace.guards.one_owner"


def attach(watching: Watching) -> Detach:  # noqa: ARG001 - every family is attached so
    from fxrace.guards._owner import Owner

    before = Owner.waits
    Owner.waits = staticmethod(lambda: participants.waiting(NAME))

    def detach() -> None:
        Owner.waits = before

    return detach
