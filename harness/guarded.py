"""A locking strategy that takes no lock: guards of ``fxrace.guards``, on for the whole trial.

They are installed when the part is built, which is before anything is traced, and removed when
the trial closes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace import guards
from harness.contracts import Call

T = TypeVar("T")


class UnderGuards:
    """Runs the work; what protects it is in torch."""

    def __init__(self, *names: str) -> None:
        self._handle = guards.install(*names)

    def around(self, call: Call, work: Callable[[], T]) -> T:  # noqa: ARG002 - every call alike
        return work()

    def close(self) -> None:
        self._handle.remove()
