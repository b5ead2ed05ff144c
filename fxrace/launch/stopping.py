"""Ctrl-C, twice: first finish what runs, then kill it. SIGTERM counts like Ctrl-C.

Signals only raise a level that the executor reads between two looks; nothing is raised into
running code, so a store write is never cut in half. Off the main thread Python allows no
handlers: there this does nothing and ``press`` is the only way to raise the level.
"""

from __future__ import annotations

import signal
import threading
from enum import IntEnum
from types import FrameType, TracebackType
from typing import Any


class Level(IntEnum):
    """How urgently to stop."""

    RUN = 0
    FINISH = 1
    KILL = 2


class Stopping:
    """``with Stopping() as stopping: executor.run(trials, stopping=stopping)``."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._level = Level.RUN
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            for number in self._SIGNALS:
                self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()

    @property
    def level(self) -> Level:
        return self._level

    def press(self) -> None:
        """What one Ctrl-C does."""
        self._level = Level(min(self._level + 1, Level.KILL))

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        self.press()
