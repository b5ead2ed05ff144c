"""How features travel from target threads to one drafter: bounded, in order, never stuck.

Several producers may finish out of order; the consumer gets positions 0, 1, 2, ... The bound is
a window ahead of what the consumer expects, not a count of items: a plain bounded queue filled
by early positions would keep the one missing item out for ever. Every wait is bounded and looks
at the stop flag, so no thread outlives the trial here.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")
LOOK_S = 2.0


class Stopped(Exception):
    """The trial was stopped while this thread waited; not a failure of the thread."""


class Channel(Generic[T]):
    """One consumer, any number of producers. ``window`` >= 1 positions may be held at once."""

    def __init__(self, window: int, stop: threading.Event) -> None:
        if window < 1:
            raise ValueError(f"a window of {window} lets nothing through")
        self._window, self._stop = window, stop
        self._changed = threading.Condition()
        self._held: dict[int, T] = {}
        self._next = 0
        self._end: int | None = None
        self._closed = False
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None

    def put(self, position: int, item: T) -> bool:
        """Hand over the item of this position; waits while it is beyond the window.

        False when nobody will take it: the channel is closed, failed or stopped. Raises
        ValueError for a position that was already put.
        """
        with self._changed:
            while not self._over() and position >= self._next + self._window:
                self._changed.wait(LOOK_S)
            if self._over():
                return False
            if position < self._next or position in self._held:
                raise ValueError(f"position {position} was already put")
            self._held[position] = item
            self._changed.notify_all()
            return True

    def get(self) -> T | None:
        """The next item in order; None after the end mark.

        Raises what a producer failed with, at once, also when earlier items are still held; and
        Stopped when the trial is being stopped.
        """
        with self._changed:
            while True:
                if self._error is not None:
                    raise self._error.with_traceback(self._traceback)
                if self._stop.is_set():
                    raise Stopped
                if self._next in self._held:
                    item = self._held.pop(self._next)
                    self._next += 1
                    self._changed.notify_all()
                    return item
                if self._end is not None and self._next >= self._end:
                    return None
                self._changed.wait(LOOK_S)

    def end(self, position: int) -> None:
        """No item at or after this position will ever come."""
        with self._changed:
            self._end = position
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """A producer died: the consumer raises this error, with its traceback. First one wins."""
        with self._changed:
            if self._error is None:
                self._error, self._traceback = error, error.__traceback__
            self._changed.notify_all()

    def close(self) -> None:
        """The consumer takes nothing more: producers are let go and what is held is dropped."""
        with self._changed:
            self._closed = True
            self._held.clear()
            self._changed.notify_all()

    def wake(self) -> None:
        """Make every waiting thread look at the stop flag now."""
        with self._changed:
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        """True when putting is useless, so that producers need not compute."""
        with self._changed:
            return self._over()

    def _over(self) -> bool:
        return self._closed or self._error is not None or self._stop.is_set()
