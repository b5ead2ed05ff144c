"""A process-wide flag of torch made per thread, and the count of who is inside.

torch's own variable stays and means "in some thread"; its readers are given code that asks for
this thread's value where the variable is True. They keep that code as long as the guard is on:
Dynamo's guards hold a reader by its code, so each change of it would be a recompile. For the same
reason a guard that is installed again gives its readers the very code they had under it before. The
surprise: code that reads the variable past its readers sees other threads' values, as before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from fxrace.guards._contract import Detach
from fxrace.guards._swap import filled, swapped


class _Mine(threading.local):
    value = False


class _Asked:
    """What a reader's code holds: it outlives the flags of one installation after another."""

    flag: ThreadFlag | None = None

    def here(self) -> bool:
        return self.flag is None or self.flag.here()


_READERS: dict[tuple[FunctionType, CodeType, Callable[..., Any]], tuple[CodeType, _Asked]] = {}


class ThreadFlag:
    """``space[name]`` is True while any thread's value is; ``here()`` is this thread's.

    ``here`` answers True once the guard has gone: torch's variable alone decides then.
    """

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self._space, self._name = space, name
        self._mine = _Mine()
        self._lock = threading.Lock()
        self._raised = 0
        self.live = True

    def read_by(self, function: FunctionType, template: Callable[..., Any]) -> Callable[[], Detach]:
        """The step that gives a reader of torch the template's code, which reads this flag."""

        def step() -> Detach:
            key = (function, function.__code__, template)
            if key not in _READERS:
                asked = _Asked()
                _READERS[key] = filled(template, function, asked), asked
            code, asked = _READERS[key]
            detach = swapped(function, code)
            asked.flag = self
            return detach

        return step

    def here(self) -> bool:
        return self._mine.value or not self.live

    @contextmanager
    def put(self, value: bool) -> Iterator[None]:  # noqa: FBT001 - the flag's value
        """This thread's value for the length of the block."""
        before = self._mine.value
        self.set(value)
        try:
            yield
        finally:
            self.set(before)

    def set(self, value: bool) -> None:  # noqa: FBT001 - the flag's value
        """This thread's value from now on."""
        with self._lock:
            self._raised += int(value) - int(self._mine.value)
            self._mine.value = value
            if self.live:
                self._space[self._name] = self._raised > 0


class Inside:
    """How many blocks are open in all threads, and what to do when the last one closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._then: Callable[[], None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._open += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._open -= 1
            then, self._then = (None, self._then) if self._open else (self._then, None)
        if then is not None:
            then()

    def when_empty(self, action: Callable[[], None]) -> None:
        """Do it now, or let the last one out do it."""
        with self._lock:
            if self._open:
                self._then = action
                return
        action()

    def never_mind(self) -> bool:
        """Take the waiting action back; False if there is none (any more)."""
        with self._lock:
            found, self._then = self._then, None
        return found is not None
