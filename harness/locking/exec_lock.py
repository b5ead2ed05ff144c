"""One lock round each drafter's first compiled call, as in the field report.

Only the very first attention call of a drafter's forward is covered, never a later one, and
nothing in backward: new shapes, the other grad mode and lazy backward compiles run unlocked.
That is the strategy under suspicion, kept exactly as reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.locks import NamedLock
from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.contracts import Call, Phase

T = TypeVar("T")


class FirstCall:
    """``_first`` holds the drafters whose first call was made (or is being made)."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._lock = NamedLock("exec_lock", recorder)
        self._first: set[int] = set()

    def around(self, call: Call, work: Callable[[], T]) -> T:
        compiled = call.compiled and call.phase is not Phase.RECOMPUTE
        if not compiled or call.drafter in self._first:
            return work()
        self._first.add(call.drafter)
        with self._lock.held(call.drafter):
            return work()

    def close(self) -> None: ...


part = Part(build=FirstCall, default=True)
