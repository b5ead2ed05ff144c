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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.probe.failure import described
from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder
from fxrace.stacks import frames_now, stack_of

MET_KEPT = 8
#: What pressure aims at; the exit of any other region must not end a hold.
PRESSED = frozenset({"trace", "compile"})
#: Spans that are no collision in themselves: threads spend most of a training step in these.
PASSIVE = frozenset({"checkpoint", "config"})
#: Borders that a warm step passes: their stacks are taken only where another thread is inside too.
_OFTEN = PASSIVE | {"recompute", "rng"}

#: Called with the edge (enter, inside, exit) and the kind of region.
Listener = Callable[[str, str], None]


class Regions:
    """Open regions by thread. A thread's own entry is only written by that thread."""

    def __init__(self, recorder: Recorder, pressure: Pressure) -> None:
        self._recorder, self._pressure = recorder, pressure
        self._numbers = itertools.count(1)
        self._open: dict[int, list[tuple[int, str, str]]] = {}
        self._met: dict[int, list[dict[str, Any]]] = {}
        self._names: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._joined: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self._within_too: Callable[[], bool] | None = None
        self._listeners: list[Listener] = []

    def outermost(self, entering: Callable[[], None], leaving: Callable[[], None]) -> None:
        """Call these, in the thread itself, around each region that is a thread's outermost."""
        self._joined.append((entering, leaving))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call this at each ``enter``, ``inside`` and ``exit``, with edge and kind of the region,
        in the thread itself, which may stand there for long. The result ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @contextmanager
    def region(self, kind: str, name: str) -> Iterator[None]:
        """The current thread is in a region of this kind for the length of the block.

        An error that leaves the region goes into its exit event: the program may catch it later.
        """
        ident, number = threading.get_ident(), next(self._numbers)
        self._names[ident] = threading.current_thread().name
        self._last[ident] = number
        stack = self._open.setdefault(ident, [])
        outermost = not stack
        if outermost:
            self._met.pop(ident, None)
            for entering, _ in self._joined:
                entering()
        told = {} if kind in PASSIVE else self._meet(ident, kind)
        if not told and kind not in _OFTEN and all(one[1] in _OFTEN for one in stack):
            told = {"frames": stack_of(sys._getframe(2))}
        entry = (number, kind, name)
        stack.append(entry)
        self._recorder.emit("region", edge="enter", region=kind, name=name, number=number, **told)
        left: dict[str, Any] = {}
        try:
            self._tell("enter", kind)
            yield
        except BaseException as error:
            left = {"error": _from_the_start(error), "others": self.others()}
            raise
        finally:
            stack.remove(entry)
            self._recorder.emit(
                "region", edge="exit", region=kind, name=name, number=number, **left
            )
            if kind in PRESSED:
                self._pressure.left(kind)
            if outermost:
                for _, leaving in self._joined:
                    leaving()
            self._tell("exit", kind)

    def within_too(self, inside: Callable[[], bool] | None) -> None:
        """Ask this as well before the current thread counts as outside every region."""
        self._within_too = inside

    def learnt(self) -> None:
        """The current thread knows of regions of another one: its next releases say something."""
        self._last[threading.get_ident()] = next(self._numbers)

    def inside(self, kind: str) -> None:
        """The current thread now has the States of its region borrowed."""
        self._pressure.inside(kind)
        self._tell("inside", kind)

    def _tell(self, edge: str, kind: str) -> None:
        for listener in self._listeners:
            listener(edge, kind)

    def others(self) -> list[dict[str, Any]]:
        """Who this thread collided with: thread, region, frames (innermost last).

        First those whose region overlapped this thread's last one, with their stacks at the
        moment of overlap (by the time an error has reached the top of its thread, the other side
        has usually left), then those that have a region open now.
        """
        me = threading.get_ident()
        met = self._met.get(me, [])
        seen = {(one["thread"], one["region"]) for one in met}
        beside = self.open_beside(me)
        return [*met, *(one for one in beside if (one["thread"], one["region"]) not in seen)]

    def _meet(self, me: int, kind: str) -> dict[str, Any]:
        """Remember an overlap on both sides, with both stacks, while both are there.

        Returns what the enter event says of it: ``frames`` and ``others``; nothing without one.
        """
        beside = self.open_beside(me)
        if not beside:
            return {}
        self._met[me] = [*beside, *self._met.get(me, ())][:MET_KEPT]
        mine = {"thread": self._names[me], "region": kind, "frames": stack_of(sys._getframe(3))}
        for ident, stack in list(self._open.items()):
            if ident != me and any(kind not in PASSIVE for _, kind, _ in list(stack)):
                self._met[ident] = [mine, *self._met.get(ident, ())][:MET_KEPT]
        return {"frames": mine["frames"], "others": beside}

    def quiet(self) -> bool:
        """True when no thread has a region open: then every State must be at its baseline."""
        return not any(self._open.values())

    def within(self) -> bool:
        """True when the current thread has a region open, or works for autograd's engine."""
        if self._open.get(threading.get_ident()):
            return True
        return self._within_too is not None and self._within_too()

    def is_in(self, kind: str) -> bool:
        """True when the current thread itself is in a region of this kind."""
        return any(one[1] == kind for one in self._open.get(threading.get_ident(), ()))

    def last_of(self, ident: int) -> int:
        """The number of the region this thread entered last, 0 for none yet."""
        return self._last.get(ident, 0)

    def open_beside(self, me: int) -> list[dict[str, Any]]:
        """What every other thread with an open region does right now."""
        frames = frames_now()
        return [
            {"thread": self._names[ident], "region": kinds[-1], "frames": stack_of(frame)}
            for ident, stack in list(self._open.items())
            if ident != me
            and (kinds := [kind for _, kind, _ in list(stack) if kind not in PASSIVE])
            and (frame := frames.get(ident)) is not None
        ]


def _from_the_start(error: BaseException) -> dict[str, Any]:
    """The error with its whole stack: its traceback begins only where the region did."""
    told = described(error)
    told["frames"] = [*stack_of(sys._getframe(3).f_back), *told["frames"]]
    return told


_current: Regions | None = None


def watch_with(regions: Regions | None) -> None:
    """Make these the regions that ``open_regions`` speaks of."""
    global _current
    _current = regions


def open_regions() -> list[dict[str, Any]]:
    """See ``Regions.others``; empty when nothing watches."""
    return _current.others() if _current is not None else []
