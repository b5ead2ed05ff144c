"""No lock: every thread traces, compiles and runs when it comes to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.part import Part
from harness.contracts import Call

T = TypeVar("T")


class NoLock:
    """Runs the work."""

    def around(self, call: Call, work: Callable[[], T]) -> T:  # noqa: ARG002 - every call alike
        return work()

    def close(self) -> None: ...


part = Part(build=NoLock, default=True)
