"""Follows participants through torch's Python code, by what the interpreter offers for it.

``sys.monitoring`` from 3.12, where only the code asked for is slowed; ``sys.settrace`` before.
Both tell ``Writes`` of lines of owners and ``Entries`` of first entries, under the same names.
Neither sees the explorer's own frames, and Dynamo is told to leave those alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum, auto
from pathlib import Path
from types import CodeType

from fxrace.probe.explore.points.entries import Entries
from fxrace.probe.explore.points.naming import is_stable
from fxrace.probe.explore.points.writes import Writes

Following = Callable[[], AbstractContextManager[None]]
"""Enter it in each participant, round its body."""


class Interest(Enum):
    """What to do with a function's code."""

    NONE = auto()
    ENTRY = auto()
    OWNER = auto()


def _unheard(code: CodeType) -> None:
    """Nobody needs to know."""


class Sight:
    """Which code is of interest, and who is told. Decisions are kept by code object."""

    def __init__(
        self,
        *,
        owners: tuple[CodeType, ...],
        writes: Writes | None,
        entries: Entries | None,
        below: tuple[str, ...],
    ) -> None:
        self.writes, self.entries = writes, entries
        self.owners = owners if writes is not None else ()
        self._below = below
        self.ignored: set[int] = set()
        self._kept: dict[int, tuple[CodeType, Interest]] = {
            id(code): (code, Interest.OWNER) for code in self.owners
        }
        self.heard: Callable[[CodeType], None] = _unheard

    def extend(self, owners: tuple[CodeType, ...]) -> None:
        """Owners in modules that were imported since; whoever follows is told of each."""
        if self.writes is None:
            return
        for code in owners:
            if self._kept.get(id(code), (None, None))[1] is not Interest.OWNER:
                self._kept[id(code)] = (code, Interest.OWNER)
                self.ignored.discard(id(code))
                self.owners += (code,)
                self.heard(code)

    def interest(self, code: CodeType) -> Interest:
        """Kept with the code object itself, whose id must not be used again meanwhile."""
        known = self._kept.get(id(code))
        if known is None:
            wanted = (
                self.entries is not None
                and is_stable(code)
                and code.co_filename.startswith(self._below)
            )
            known = self._kept[id(code)] = (code, Interest.ENTRY if wanted else Interest.NONE)
            if not wanted:
                self.ignored.add(id(code))
        return known[1]


def torch_folder() -> str:
    """Where torch's Python code lies."""
    import torch

    return str(Path(torch.__file__).parent) + "/"


def best(sight: Sight) -> tuple[Following, Callable[[], None]]:
    """How this interpreter follows, switched on; and how to switch it off."""
    if sys.version_info >= (3, 12):
        from fxrace.probe.explore.points import monitoring

        return monitoring.follow(sight)
    from fxrace.probe.explore.points import settrace

    return settrace.follow(sight)
