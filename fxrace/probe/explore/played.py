"""What one schedule was and what came of it. Frozen and picklable: it crosses from the worker.

``Step.at`` is where the thread stood that had the baton before the step: its last point, or
``"end"``, or ``"blocked:<lock>"``. The surprise: a Played is complete even when the schedule was
not; ``end`` says how it ended, and no schedule is without an end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

Stack = tuple[tuple[str, int, str], ...]
"""``(file, line, function)``, innermost last."""


class End(str, Enum):
    """How a schedule ended."""

    FINISHED = "finished"
    """Every thread returned or raised."""
    DEADLOCK = "deadlock"
    """The participants wait for each other; ``circle`` names how."""
    STANDING = "standing"
    """Whoever is left stands in native code or on a lock we cannot see."""
    ENDLESS = "endless"
    """Somebody was still busy when the time limit came."""
    LOST = "lost"
    """The process died or stopped answering."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One decision. ``current`` had the baton (None at the start and after a slip)."""

    runnable: tuple[int, ...]
    chosen: int
    current: int | None
    at: str

    @property
    def is_choice(self) -> bool:
        """True where more than one thread could run."""
        return len(self.runnable) > 1

    @property
    def is_preemption(self) -> bool:
        """True where a thread that could have gone on had to stop."""
        return self.chosen != self.current and self.current in self.runnable


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """What a body returned, or what it raised (as ``failure.described``), or neither: not ended."""

    thread: str
    returned: bool = False
    result: Any = None
    error: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Slip:
    """A runner that was passed over at ``step``, and what it stood in."""

    step: int
    thread: int
    after: str
    what: str
    stack: Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A thread that had to wait for a lock another participant holds."""

    step: int
    thread: int
    lock: str
    owner: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stood:
    """A thread that had to stop at a point, with its stack and the States off their baseline."""

    step: int
    thread: int
    at: str
    stack: Stack
    away: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Deviation:
    """A State that was not back at its baseline when every thread had ended."""

    state: str
    attribute: str
    before: str
    during: str
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """One schedule as it went."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    ended: tuple[Ended, ...]
    end: End
    slips: tuple[Slip, ...] = ()
    blocks: tuple[Block, ...] = ()
    circle: tuple[str, ...] = ()
    stood: tuple[Stood, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    drift: str = ""
    lasted_s: float = 0.0

    @property
    def choices(self) -> tuple[int, ...]:
        """Who was chosen, at the steps where there was a choice."""
        return tuple(step.chosen for step in self.steps if step.is_choice)

    @property
    def preemptions(self) -> int:
        return sum(step.is_preemption for step in self.steps)

    @property
    def is_dirty(self) -> bool:
        """True when the process must not run another schedule."""
        return bool(self.deviations) or self.end is not End.FINISHED
