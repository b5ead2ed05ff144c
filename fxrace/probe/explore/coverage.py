"""How much of what could happen did: distinct hand-overs, and when no new ones come any more.

A hand-over is a switch from a thread at one point to a thread that stood at another. Two
schedules with the same hand-overs order the same things; once a hundred bring no new one, more
of the same strategy will not either.
"""

from __future__ import annotations

from fxrace.probe.explore.played import Played

WINDOW = 100
HandOver = tuple[int, str, int, str]


class Coverage:
    """Grows with each schedule played."""

    def __init__(self) -> None:
        self._seen: dict[HandOver, int] = {}
        self.schedules = 0

    def add(self, played: Played) -> int:
        """Count this schedule; how many hand-overs it had that none before had."""
        before = len(self._seen)
        self.schedules += 1
        for one in hand_overs(played):
            self._seen.setdefault(one, self.schedules)
        return len(self._seen) - before

    @property
    def distinct(self) -> int:
        return len(self._seen)

    @property
    def new(self) -> int:
        """In the last ``WINDOW`` schedules."""
        return sum(first > self.schedules - WINDOW for first in self._seen.values())

    @property
    def is_saturated(self) -> bool:
        return self.schedules >= WINDOW and not self.new

    def told(self) -> str:
        return f"distinct {self.distinct}, new in the last {WINDOW}: {self.new}"


def hand_overs(played: Played) -> set[HandOver]:
    """``(thread, its point, other thread, its point)`` of each switch that was no thread's end."""
    at = dict.fromkeys(range(len(played.names)), "start#0")
    found: set[HandOver] = set()
    for step in played.steps:
        if step.current is not None:
            at[step.current] = step.at
            if step.chosen != step.current and step.at != "end":
                found.add((step.current, step.at, step.chosen, at[step.chosen]))
    return found
