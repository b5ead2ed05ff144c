"""Which threads are inside which regions right now, and who is told about it.

A region is a span in which a thread has borrowed process-wide State. The hooks report the
borders here; this records them, tells the pressure, and can say what every *other* thread with
an open region is doing, which is what an error report needs: the thread that crashes is rarely
the one that caused it.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder

FRAMES_KEPT = 60
MET_KEPT = 8


class Regions:
    """Open regions by thread. A thread's own entry is only written by that thread."""

    def __init__(self, recorder: Recorder, pressure: Pressure) -> None:
        self._recorder, self._pressure = recorder, pressure
        self._numbers = itertools.count(1)
        self._open: dict[int, list[tuple[int, str, str]]] = {}
        self._met: dict[int, list[dict[str, Any]]] = {}
        self._names: dict[int, str] = {}

    @contextmanager
    def region(self, kind: str, name: str) -> Iterator[None]:
        """The current thread is in a region of this kind for the length of the block."""
        ident, number = threading.get_ident(), next(self._numbers)
        self._names[ident] = threading.current_thread().name
        stack = self._open.setdefault(ident, [])
        if not stack:
            self._met.pop(ident, None)
        stack.append((number, kind, name))
        self._meet(ident, kind)
        self._recorder.emit("region", edge="enter", region=kind, name=name, number=number)
        try:
            yield
        finally:
            stack.pop()
            self._recorder.emit("region", edge="exit", region=kind, name=name, number=number)
            self._pressure.left(kind)

    def inside(self, kind: str) -> None:
        """The current thread now has the States of its region borrowed."""
        self._pressure.inside(kind)

    def others(self) -> list[dict[str, Any]]:
        """Who this thread collided with: thread, region, frames (innermost last).

        First those whose region overlapped this thread's last one, with their stacks at the
        moment of overlap (by the time an error has reached the top of its thread, the other side
        has usually left), then those that have a region open now.
        """
        me = threading.get_ident()
        met = self._met.get(me, [])
        seen = {(one["thread"], one["region"]) for one in met}
        beside = self._open_beside(me)
        return [*met, *(one for one in beside if (one["thread"], one["region"]) not in seen)]

    def _meet(self, me: int, kind: str) -> None:
        """Remember an overlap on both sides, with both stacks, while both are there."""
        beside = self._open_beside(me)
        if not beside:
            return
        self._met[me] = [*beside, *self._met.get(me, ())][:MET_KEPT]
        mine = {"thread": self._names[me], "region": kind, "frames": stack_of(sys._getframe(3))}
        for ident, stack in list(self._open.items()):
            if ident != me and stack:
                self._met[ident] = [mine, *self._met.get(ident, ())][:MET_KEPT]

    def _open_beside(self, me: int) -> list[dict[str, Any]]:
        frames = sys._current_frames()
        return [
            {"thread": self._names[ident], "region": stack[-1][1], "frames": stack_of(frame)}
            for ident, stack in list(self._open.items())
            if ident != me and stack and (frame := frames.get(ident)) is not None
        ]


def stack_of(frame: FrameType | None) -> list[list[Any]]:
    """``[file, line, function]`` of a frame and its callers, innermost last."""
    found: list[list[Any]] = []
    while frame is not None and len(found) < FRAMES_KEPT:
        found.append(
            [
                frame.f_code.co_filename,
                frame.f_lineno,
                frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name,
            ]
        )
        frame = frame.f_back
    return found[::-1]


_current: Regions | None = None


def watch_with(regions: Regions | None) -> None:
    """Make these the regions that ``open_regions`` speaks of."""
    global _current
    _current = regions


def open_regions() -> list[dict[str, Any]]:
    """See ``Regions.others``; empty when nothing watches."""
    return _current.others() if _current is not None else []
