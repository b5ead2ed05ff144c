"""Regions that are too frequent for a line each: on record only where something happens.

A fake tensor mode is entered for every operation that a compile looks at; nearly all of those
spans are over before any thread notices. A span is therefore *owed* (``Recorder.owe``): it
appears in the record when its thread records something inside, or when a second thread enters a
span of the same kind, which is the overlap that leaves a State off its baseline. Then both sides
are there, with both stacks. Only a thread's outermost span counts: what lies inside saves and
restores this thread's own value.
"""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any

from fxrace.probe.recorder import Owed, Recorder
from fxrace.stacks import frames_now, stack_of

_NUMBERS = itertools.count(1)


class Spans:
    """Spans of one kind. Each thread writes its own entry only, so no lock is needed."""

    def __init__(self, recorder: Recorder, kind: str) -> None:
        self._recorder, self._kind = recorder, kind
        self._depth: dict[int, int] = {}
        self._open: dict[int, Owed] = {}

    def enter(self, name: str, *, above: int = 1) -> None:
        """The current thread enters one; its stack begins ``above`` frames over this call."""
        ident = threading.get_ident()
        depth = self._depth[ident] = self._depth.get(ident, 0) + 1
        if depth > 1:
            return
        beside = list(self._open.items())
        told = {"region": self._kind, "name": name, "number": next(_NUMBERS)}
        owed = self._open[ident] = self._recorder.owe("region", edge="enter", **told)
        if beside:
            self._meet(ident, owed, beside, stack_of(sys._getframe(above)))

    def leave(self) -> None:
        """The end of it, also on the way of an error."""
        ident = threading.get_ident()
        depth = self._depth.get(ident, 0)
        if depth > 1:
            self._depth[ident] = depth - 1
            return
        self._depth.pop(ident, None)
        owed = self._open.pop(ident, None)
        if owed is not None and not self._recorder.forgive(owed):
            told = {**owed.data, "edge": "exit"}
            told.pop("frames", None)
            told.pop("others", None)
            self._recorder.emit("region", **told)

    def _meet(
        self, me: int, mine: Owed, beside: list[tuple[int, Owed]], frames: list[list[Any]]
    ) -> None:
        """Put both sides on record, the one that was there first."""
        now, others = frames_now(), []
        for ident, owed in beside:
            stack = stack_of(now.get(ident))
            owed.data.setdefault("frames", stack)
            self._recorder.pay(ident)
            others.append({"thread": owed.thread.name, "region": self._kind, "frames": stack})
        mine.data.update(frames=frames, others=others)
        self._recorder.pay(me)
