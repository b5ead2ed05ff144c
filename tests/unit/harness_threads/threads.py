"""Runs something on another thread and waits for it, always bounded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
SOON_S = 20.0
"""Longer than anything here takes on a busy machine; only a failing test waits this long."""
A_MOMENT_S = 0.05
"""How long something that must not happen is watched for. Too short can only miss, never fail."""


class Background(Generic[T]):
    """A call on a thread of its own."""

    def __init__(self, work: Callable[[], T], name: str = "background") -> None:
        self._work = work
        self._result: tuple[T] | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._result = (self._work(),)
        except BaseException as error:
            self.error = error

    @property
    def stuck(self) -> bool:
        """True when it has not ended after a moment."""
        self.thread.join(A_MOMENT_S)
        return self.thread.is_alive()

    def result(self) -> T:
        """What it returned; raises what it raised, and fails when it does not end."""
        self.thread.join(SOON_S)
        assert not self.thread.is_alive(), f"{self.thread.name} does not end"
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return self._result[0]


class Parked:
    """Work that stands still inside until it is let go."""

    def __init__(self) -> None:
        self.inside, self.go = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.inside.set()
        assert self.go.wait(SOON_S)
        return threading.current_thread().name
