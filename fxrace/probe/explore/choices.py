"""Choosers: who runs next, at each step of one schedule. Pure, picklable, no torch.

A chooser is called at every step with the Situation, also where only one thread can run, and
returns one of ``runnable``. Returning another number is drift: the baton notes it and goes on
without preemptions. Choosers may keep state: use a fresh one per schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What a chooser sees. ``current`` had the baton, and has just come to ``at``."""

    step: int
    runnable: tuple[int, ...]
    current: int | None
    at: str


class Chooser(Protocol):
    """Decides one schedule."""

    def __call__(self, situation: Situation) -> int: ...


def staying(situation: Situation) -> int:
    """No preemption: the current thread goes on while it can, then the lowest number."""
    if situation.current in situation.runnable:
        return situation.current
    return situation.runnable[0]


@dataclass
class InOrder:
    """No preemption; threads begin in this order. ``InOrder((1, 0))`` is serial, B first."""

    order: tuple[int, ...]

    def __call__(self, situation: Situation) -> int:
        if situation.current in situation.runnable:
            return staying(situation)
        return min(situation.runnable, key=self._rank)

    def _rank(self, thread: int) -> int:
        return self.order.index(thread) if thread in self.order else len(self.order)


@dataclass
class Fixed:
    """These threads at the first choices (steps where two or more can run), then ``staying``."""

    choices: tuple[int, ...]
    _used: int = field(default=0, repr=False)

    def __call__(self, situation: Situation) -> int:
        if len(situation.runnable) < 2:
            return situation.runnable[0]
        at, self._used = self._used, self._used + 1
        return self.choices[at] if at < len(self.choices) else staying(situation)


@dataclass(frozen=True, slots=True)
class Stop:
    """``thread`` stops where it comes to ``at``, and ``to`` goes on. Names of points are unique
    in a thread's run, so a set of stops needs no order.
    """

    thread: int
    at: str
    to: int


@dataclass
class Stops:
    """A schedule by its switches: ``start`` runs first; nobody else is ever interrupted.

    The form in which schedules are minimised and written as scripts: any stop can be left out,
    and what is left is a schedule again.
    """

    start: int
    stops: tuple[Stop, ...]

    def __call__(self, situation: Situation) -> int:
        if situation.current is None and not situation.step:
            return self.start if self.start in situation.runnable else staying(situation)
        for stop in self.stops:
            here = stop.thread == situation.current and stop.at == situation.at
            if here and stop.to in situation.runnable:
                return stop.to
        return staying(situation)


@dataclass
class OneStop:
    """Interference: ``thread`` runs to the point ``at``; all others run until they end or block;
    then ``thread`` goes on to its end, and whoever is left after it.

    ``reached`` tells afterwards (in the same process) whether it came to the point at all.
    """

    thread: int
    at: str
    reached: bool = False
    _resumed: bool = field(default=False, repr=False)

    def __call__(self, situation: Situation) -> int:
        mine, can = self.thread, situation.runnable
        if situation.current == mine and situation.at == self.at:
            self.reached = True
        others = [one for one in can if one != mine]
        stopped = self.reached and not self._resumed
        if stopped and others:
            return situation.current if situation.current in others else others[0]
        self._resumed = self._resumed or stopped
        return mine if mine in can else staying(situation)


@dataclass
class TwoStops:
    """For States that are saved and restored: A in, B in, A out, B out.

    ``first`` runs to ``at``, the other to ``other_at``, ``first`` to its end, then the other.
    """

    first: int
    at: str
    other: int
    other_at: str
    phase: int = 0

    def __call__(self, situation: Situation) -> int:
        here = (situation.current, situation.at)
        if self.phase == 0 and here == (self.first, self.at):
            self.phase = 1
        elif self.phase == 1 and here == (self.other, self.other_at):
            self.phase = 2
        wanted = self.other if self.phase == 1 else self.first
        return wanted if wanted in situation.runnable else staying(situation)
