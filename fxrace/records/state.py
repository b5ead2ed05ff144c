"""A State: one process-wide mutable thing in torch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Scope(str, Enum):
    """Who shares a State's value."""

    PROCESS = "process"
    THREAD = "thread"
    CONTEXT = "context"


class Keeping(str, Enum):
    """What a State's value is like when no region is open."""

    RESTORED = "restored"
    """Back at its baseline; anything else is a leak."""
    LASTING = "lasting"
    """May have changed for good: a cache, a counter, a setting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """One row of the registry.

    ``attribute`` is ``module:dotted.attribute``. ``since`` and ``until`` bound the torch versions
    (major, minor) in which it is shared by the process: first with, first without. ``why`` says
    in a clause what sharing it breaks. ``borrowed_by`` is the kind of region that borrows it with
    nothing in torch that keeps two apart; ``also_borrowed_by`` are kinds that touch it too.
    ``lock`` names the lock that covers the borrowing, empty where there is none. ``unhooked`` says
    why no hook sees that kind of region: then a leak is all that can be seen of it.
    """

    name: str
    attribute: str
    borrowed_by: str
    why: str
    scope: Scope = Scope.PROCESS
    keeping: Keeping = Keeping.RESTORED
    also_borrowed_by: tuple[str, ...] = ()
    lock: str = ""
    unhooked: str = ""
    since: tuple[int, int] | None = None
    until: tuple[int, int] | None = None
    surfaces: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    def shared_in(self, version: tuple[int, int]) -> bool:
        """True when this torch shares the State between threads."""
        return (self.since is None or version >= self.since) and (
            self.until is None or version < self.until
        )
