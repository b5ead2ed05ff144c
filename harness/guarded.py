"""A locking strategy that takes no lock: guards of ``fxrace.guards``, on for the whole trial.

They must be in place before the hooks, which wrap what a guard changes; so ``before_hooks`` asks
for the names, and the part that is built later finds them installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Guarded:
    """What a part of this kind is built with: ``Part(build=Guarded("one_owner"))``."""

    names: tuple[str, ...]
    kind: type[UnderGuards]

    def __init__(self, *names: str, kind: type[UnderGuards] = UnderGuards) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "kind", kind)

    def __call__(self) -> UnderGuards:
        return self.kind(*self.names)
