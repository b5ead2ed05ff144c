"""How features travel from target threads to one drafter: bounded, in order, never stuck.

Several producers may finish out of order; the consumer gets positions 0, 1, 2, ... The bound is
a window ahead of what the consumer expects, not a count of items: a plain bounded queue filled
by early positions would keep the one missing item out for ever. Every wait is bounded and looks
at the stop flag, so no thread outlives the trial here.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
LOOK_S = 2.0


class Stopped(Exception):
    """The trial was stopped while this thread waited; not a failure of the thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """How a channel was used: seconds producers waited for room, seconds its consumer waited
    for items, and how often so many items were held when one was taken.
    """

    full_s: float
    empty_s: float
    depths: dict[int, int]


Rule = Callable[["Channel[Any]", int, Any], bool]
"""(channel, position, item or None) -> may it come in now? Called with the channel's lock held."""


def within(window: int) -> Rule:
    """At most ``window`` positions ahead of what the consumer expects."""
    if window < 1:
        raise ValueError(f"a window of {window} lets nothing through")
    return lambda channel, position, _: position < channel.expected + window


class Channel(Generic[T]):
    """One consumer, any number of producers. The bound is a window of positions, or a rule.

    ``changed`` is given to channels whose rule looks at each other. With ``on_request``,
    ``await_turn`` waits until the item may come in, so that it is not even made before.
    """

    def __init__(
        self,
        window: int | Rule,
        stop: threading.Event,
        *,
        changed: threading.Condition | None = None,
        on_request: bool = False,
    ) -> None:
        self._rule = within(window) if isinstance(window, int) else window
        self._stop, self._on_request = stop, on_request
        self._changed = threading.Condition() if changed is None else changed
        self._held: dict[int, T] = {}
        self._next = 0
        self._asking = False
        self._full_s = self._empty_s = 0.0
        self._depths: Counter[int] = Counter()
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
            self._await_room(position, item)
            if self._over():
                return False
            if position < self._next or position in self._held:
                raise ValueError(f"position {position} was already put")
            self._held[position] = item
            self._changed.notify_all()
            return True

    def await_turn(self, position: int) -> bool:
        """Wait until the item of this position is wanted at all; False when it never will be."""
        with self._changed:
            if self._on_request:
                self._await_room(position, None)
            return not self._over()

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
                    return self._taken()
                if self._end is not None and self._next >= self._end:
                    return None
                self._asking = True
                self._changed.notify_all()
                began = time.monotonic()
                self._changed.wait(LOOK_S)
                self._empty_s += time.monotonic() - began

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

    @property
    def expected(self) -> int:
        """The position that the consumer gets next."""
        return self._next

    @property
    def asking(self) -> bool:
        """True while the consumer waits for what it expects."""
        return self._asking

    @property
    def held(self) -> tuple[T, ...]:
        """What has come in and was not taken yet."""
        return tuple(self._held.values())

    @property
    def finished(self) -> bool:
        """True when the consumer needs nothing more. Call with the lock held."""
        return self._over() or (self._end is not None and self._next >= self._end)

    @property
    def waits(self) -> Waits:
        """What has been counted so far."""
        with self._changed:
            return Waits(full_s=self._full_s, empty_s=self._empty_s, depths=dict(self._depths))

    def _await_room(self, position: int, item: T | None) -> None:
        while not self._over() and not self._rule(self, position, item):
            began = time.monotonic()
            self._changed.wait(LOOK_S)
            self._full_s += time.monotonic() - began

    def _taken(self) -> T:
        self._depths[len(self._held)] += 1
        item = self._held.pop(self._next)
        self._next += 1
        self._asking = False
        self._changed.notify_all()
        return item

    def _over(self) -> bool:
        return self._closed or self._error is not None or self._stop.is_set()
