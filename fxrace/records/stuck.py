"""What a standing process waits for: its classification, the waits, and the threads.

The surprise: ``held_by`` may be None. A queue, an event or a lock of unknown owner is waited for
all the same, and a report that left such waits out would call the process idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fxrace.records.finding import Frame


class Classification(str, Enum):
    """One word for a whole process.

    STARVATION is one thread that runs while others stand before a lock it holds. EXTERNAL_WAIT is
    a thread in native code (a sleep, a file, a device) with nobody of the process in its way.
    """

    DEADLOCK = "deadlock"
    STARVATION = "starvation"
    EXTERNAL_WAIT = "external_wait"
    RUNNING = "running"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """One wait: who, for what, held by whom, and where the waiter stands (innermost last)."""

    waiter: str
    waits_for: str
    held_by: str | None
    stack: tuple[Frame, ...]


class Motion(str, Enum):
    """Whether a thread did anything between two looks."""

    STILL = "still"
    RUNS = "runs"


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadRow:
    """One thread of the process. ``leaf`` is the native function (or the kernel's wait channel)
    it stands in, "" where that could not be read or does not matter.
    """

    thread: str
    ident: int | None
    motion: Motion
    holds_gil: bool
    waits_for: str | None
    held_by: str | None
    holds: tuple[str, ...]
    leaf: str
    stack: tuple[Frame, ...]
