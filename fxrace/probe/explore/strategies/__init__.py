"""Which schedules are tried. One strategy per file; the folder is the registry.

A file holds ``strategy = Strategy(...)``; its docstring is the help. A strategy ``begin``s a
Search, which proposes one chooser after the other, is told what became of each, and says when
there is none left. Pure Python: no torch, no threads, so that counts can be proved on toys.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fxrace.probe.explore.choices import Chooser
from fxrace.probe.explore.played import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a search may know beforehand. ``points`` are those of each thread, run alone."""

    points: tuple[int, ...]
    seed: int = 0
    bound: int = 2

    @property
    def threads(self) -> int:
        return len(self.points)


class Search(Protocol):
    """One strategy at work."""

    def propose(self) -> Chooser | None:
        """The chooser of the next schedule, or None: every schedule of this search was tried."""

    def learn(self, steps: Sequence[Step]) -> str:
        """The last proposal was played so. Returns what was not as it was before, or nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strategy:
    """``ends`` is True where a search comes to its own end; others go on as long as they may."""

    begin: Callable[[Setting], Search]
    ends: bool = False


def names() -> list[str]:
    """Every strategy in the folder. Imports none."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Strategy:
    """The strategy of this name. Raises LookupError where there is none."""
    if name not in names():
        raise LookupError(f"there is no strategy {name!r}; there are {', '.join(names())}")
    found: Strategy = importlib.import_module(f"{__name__}.{name}").strategy
    return found
