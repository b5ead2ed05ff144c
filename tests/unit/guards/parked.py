"""A thread that stops where it is told to, and a second one that acts meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

LONG = 60.0


class Parked:
    """``work(pause)`` in a thread; the constructor returns when it has come to ``pause()``."""

    def __init__(self, work: Callable[[Callable[[], None]], Any], name: str = "A") -> None:
        self._at, self._on = threading.Event(), threading.Event()
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        if not self._at.wait(LONG):
            raise AssertionError(f"{name} never came to its pause")

    def _run(self) -> None:
        try:
            self._result = self._work(self._pause)
        except BaseException as error:
            self._error = error
        self._at.set()

    def _pause(self) -> None:
        self._at.set()
        if not self._on.wait(LONG):
            raise AssertionError("nobody let it go on")

    def go(self) -> Any:
        """Let it go on to its end; its result, or its error as a value."""
        self._on.set()
        self._thread.join(LONG)
        assert not self._thread.is_alive(), "it never ended"
        return self._error if self._error is not None else self._result


def beside(work: Callable[[], Any], timeout: float = LONG) -> Any:
    """Run it in a thread of its own; its result, its error as a value, or ``"waits"``."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, name="B", daemon=True)
    thread.start()
    thread.join(timeout)
    return found[0] if found else "waits"


def told(value: Any) -> str:
    """An error's type and first line, with those of its causes; ``"ok"`` for anything else."""
    if not isinstance(value, BaseException):
        return "ok"
    words = []
    at: BaseException | None = value
    while at is not None:
        words.append(f"{type(at).__name__}: {str(at).splitlines()[0] if str(at) else ''}")
        at = at.__cause__ or at.__context__
    return " < ".join(words)


def until(condition: Callable[[], bool]) -> None:
    """There is no event for it: a thread stands before a lock."""
    import time

    limit, pause = time.monotonic() + 60, threading.Event()
    while not condition():
        assert time.monotonic() < limit, "it never came to that"
        pause.wait(0.01)
