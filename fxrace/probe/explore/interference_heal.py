"""Counterfactuals: what a run would have been, had this State been as it was before A began.

While B runs at a stop, chosen States (or attributes that are no States) have their baseline;
when it has ended they are put back to what A had, so that A is none the wiser. Where B is stopped
inside as well, each side gets back its own: the State is then private to each thread.

Everything beyond the registry is read and written in a thread of its own: A may stand inside a
tracing mode, and whatever its thread computed would become part of its graph.
"""

from __future__ import annotations

from typing import Any

from fxrace.probe.explore import interference_wide
from fxrace.probe.explore.interference_course import Course
from fxrace.probe.explore.interference_fork import Say
from fxrace.probe.explore.interference_states import Reader, Reading
from fxrace.probe.explore.interference_thread import elsewhere

#: ``Course.wide``: nothing is healed, but what A undoes of B's changes is said.
WATCHED = ("",)


class Healing:
    """For one run with one stop. ``begin`` and ``end`` in A's thread, round B."""

    def __init__(self, reader: Reader, course: Course, say: Say) -> None:
        self._reader, self._heal, self._wide = reader, course.heal, course.wide
        self._say = say
        self._b_had = reader.baseline
        self._changed: dict[str, Any] = {}
        self._first = interference_wide.read() if self._wide is not None else {}
        self._now: interference_wide.Marks = {}
        self._healed: list[str] = []

    def begin(self) -> None:
        self._reader.put(self._heal, self._reader.baseline)
        if self._wide is not None:
            elsewhere(self._begin_widely)

    def end(self, before: Reading) -> None:
        if self._wide is not None:
            elsewhere(self._end_widely)
        if self._heal:
            self._b_had = self._reader.read()
            self._reader.put(self._heal, before)

    def resume(self) -> Reading:
        """B goes on, with what it had; returns what A left."""
        left = self._reader.read()
        self._reader.put(self._heal, self._b_had)
        return left

    def say_undone(self) -> None:
        """Which of the attributes that B changed have, after A, the values from before B."""
        if self._changed:
            marks = interference_wide.read()
            undone = [path for path, was in self._changed.items() if marks[path][3] == was]
            self._say({"is": "undone", "paths": undone})

    def _begin_widely(self) -> None:
        self._now = interference_wide.read()
        off = interference_wide.changed(self._first, self._now)
        self._healed = [path for path in off if self._wanted(path)]
        interference_wide.put(self._healed, self._first)

    def _end_widely(self) -> None:
        touched = interference_wide.changed(self._now, interference_wide.read())
        mended = [path for path in touched if self._wanted(path)]
        self._say({"is": "wide", "healed": self._healed, "mended": mended})
        interference_wide.put(mended, self._now)
        if self._wide == WATCHED:
            self._changed = {path: self._now[path][3] for path in touched}

    def _wanted(self, path: str) -> bool:
        return not self._wide or path in self._wide
