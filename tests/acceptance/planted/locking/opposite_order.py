"""Planted: drafter 0 takes lock a then b, drafter 1 takes b then a, each with its first in hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.locks import NamedLock
from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.contracts import Call

T = TypeVar("T")
BOUND_S = 60.0


class OppositeOrder:
    """Both wait until both hold their first lock, so the circle closes every time."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._locks = (NamedLock("a", recorder), NamedLock("b", recorder))
        self._both = threading.Barrier(2)

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if call.site != "step" or call.drafter > 1:
            return work()
        first, second = self._locks if call.drafter == 0 else self._locks[::-1]
        with first.held(call.drafter):
            self._both.wait(BOUND_S)
            with second.held(call.drafter):
                return work()

    def close(self) -> None: ...


part = Part(build=OppositeOrder)
