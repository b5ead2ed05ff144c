"""Schedules in this very process: for tests that cannot be forked.

A process that a schedule left dirty plays nothing more, so there is one difference at most. What
is asked afterwards (does it show again, does less show it) gets no for an answer.
"""

from __future__ import annotations

from fxrace.probe.explore.choices import Chooser
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Stage
from fxrace.probe.explore.workers import lost


class InProcess:
    """``play`` as long as it is clean; then ``usable`` is False."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._dirty = stage, False

    def play(self, program: Program, chooser: Chooser) -> Played:
        """One schedule, or what is known of one that was not played."""
        if self._dirty:
            return lost(program, "the process was poisoned before")
        played = self._stage.play(program, chooser)
        self._dirty = played.is_dirty
        return played

    def usable(self) -> bool:
        """False after a schedule that left something behind."""
        return not self._dirty
