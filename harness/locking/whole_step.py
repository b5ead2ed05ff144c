"""One lock round every whole optimizer step: drafters take turns.

Covers forward, recompute, backward and whatever compiles in them, at the price of running one
drafter at a time. The lock is owned by the drafter, not by the thread, since on CUDA recompute
and backward run on autograd's device threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.locks import NamedLock
from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.contracts import Call

T = TypeVar("T")


class WholeStep:
    """One lock, taken for each step; calls inside a step already hold it."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._lock = NamedLock("whole_step", recorder)

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if call.site != "step":
            return work()
        with self._lock.held(call.drafter):
            return work()

    def close(self) -> None: ...


part = Part(build=WholeStep, default=True)
