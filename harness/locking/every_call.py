"""One lock round every compiled call, in forward and in recompute.

What it leaves out is backward itself: a backward graph that compiles lazily does so while
other threads are inside the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.locks import NamedLock
from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.contracts import Call

T = TypeVar("T")


class EveryCall:
    """One lock, owned by the drafter, taken for each attention call."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._lock = NamedLock("every_call", recorder)

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if not call.compiled:
            return work()
        with self._lock.held(call.drafter):
            return work()

    def close(self) -> None: ...


part = Part(build=EveryCall)
