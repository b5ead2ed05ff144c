"""Counts what the hook families report: FX traces, Dynamo compiles, lazy backward compiles.

It takes the place of a recorder, so that an experiment counts through the same hooks that a sweep
records through and knows none of torch's internals itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

TRACE, LAZY_BACKWARD, COMPILE = "trace", "lazy_backward", "compile"
#: A Dynamo compile that gave guarded code: a frame that Dynamo skips is none.
COMPILED = "compiled"


@dataclass(kw_only=True, slots=True)
class Seen:
    """What happened during one block: (what, name of its thread), in order."""

    events: list[tuple[str, str]] = field(default_factory=list)

    def of(self, what: str) -> int:
        """How often, in any thread."""
        return sum(1 for one, _ in self.events if one == what)

    def threads(self, what: str) -> str:
        """In which threads, by name, comma separated; empty for none."""
        return ", ".join(dict.fromkeys(thread for one, thread in self.events if one == what))


class Counts:
    """Stands in for a recorder. Blocks may nest; each sees all that happens while it is open."""

    def __init__(self) -> None:
        self._open: list[Seen] = []

    def emit(self, kind: str, **data: Any) -> None:
        """Note the entry of a region and the end of a compile; nothing else is counted."""
        what = ""
        if kind == "region" and data["edge"] == "enter":
            what = data["region"]
        elif kind == "compile" and data["ok"]:
            what = COMPILED
        if what:
            for seen in tuple(self._open):
                seen.events.append((what, threading.current_thread().name))

    @contextmanager
    def during(self) -> Iterator[Seen]:
        """Count in every thread for the length of the block."""
        seen = Seen()
        self._open.append(seen)
        try:
            yield seen
        finally:
            self._open.remove(seen)
