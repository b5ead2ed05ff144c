"""Grain ``state``: a thread offers to stop right after it wrote a watched State.

Looks at the States after each line of the owners' code, and tells a write by comparison; the
point is named by the State (the first one, where a line wrote several), never by the line. The
surprise: values are re-read whenever a thread comes back from a point or enters an owner, so that
what others wrote meanwhile is not taken for its own.
"""

from __future__ import annotations

from typing import Any

from fxrace.probe.explore.current import Current
from fxrace.probe.explore.watched import Watched

#: Visits per State, thread and schedule that are points; a compile enters a mode at every call.
VISITS = 16


class Writes:
    """Compares the watched States. Threads take turns, so one set of last values is enough."""

    def __init__(self, watched: Watched, current: Current) -> None:
        self._watched, self._current = watched, current
        self._last: list[Any] = []

    def entered(self) -> None:
        """The current thread enters an owner: from now on changes are its own."""
        self._last = self._watched.values()

    def after_line(self) -> None:
        """The current thread has executed a line of an owner."""
        now = self._watched.values()
        changed = self._watched.written(self._last, now)
        self._last = now
        if changed:
            self._current.reach(f"{changed[0]}:write", at_most=VISITS)
            self._last = self._watched.values()
