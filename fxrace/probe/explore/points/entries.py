"""Grain ``call``: a thread offers to stop at its first entry of each distinct torch function.

Inside regions, and in the whole body of a thread that opens none. Only what has a name that is
the same on every Python counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CodeType, FrameType

from fxrace.probe.explore.current import Current
from fxrace.probe.explore.points.naming import is_stable, named


class Entries:
    """Which functions each participant has entered, in the schedule that runs."""

    def __init__(self, within: Callable[[], bool], current: Current) -> None:
        self._within, self._current = within, current
        self._seen: dict[int, set[int]] = {}
        self.everywhere: frozenset[int] = frozenset()

    def begin(self, everywhere: frozenset[int]) -> None:
        """A new schedule: nobody has entered anything; whose whole body counts as a region."""
        self._seen, self.everywhere = {}, everywhere

    def entered(self, code: CodeType, frame: FrameType) -> None:
        """The current thread enters a torch function."""
        seen = self._seen.setdefault(threading.get_ident(), set())
        if id(code) in seen or self._current.baton is None:
            return
        number = self._current.baton.number()
        if number is None or not (number in self.everywhere or self._within()):
            return
        seen.add(id(code))
        if is_stable(code):
            self._current.reach(named(frame))
