"""What crosses the border between the first process and its slots. All of it pickles.

Slots report over a pipe each, which ends when the process ends, so that a slot that was killed is
noticed at once. ``stop``, ``go`` and ``gone`` are events that every process sees.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import Plan
from harness.roles import Turn

LOOK_S = 0.2
"""How often a slot that waits looks whether it shall stop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """``lanes[target][drafter]`` are bounded queues of parcels; ``gone[drafter]`` says that
    nobody reads its lanes any more; ``done`` that nobody needs what a target holds.
    """

    lanes: tuple[tuple[Any, ...], ...]
    gone: tuple[Any, ...]
    go: Any
    stop: Any
    done: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One slot's work. ``meet`` is the file through which drafters find each other."""

    role: str
    index: int
    plan: Plan
    knobs: Mapping[str, str]
    roots: tuple[Path, ...]
    meet: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """What a slot did, sent at its end; ``through`` when nobody stopped it."""

    turns: tuple[Turn, ...]
    peak_memory_bytes: int
    through: bool = True


class Reporter:
    """Stands in for the recorder: sends each event to the first process, which records it."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe
        self._mutex = threading.Lock()

    def emit(self, kind: str, **data: Any) -> None:
        self.send((kind, data))

    def send(self, message: Any) -> None:
        with self._mutex:
            self._pipe.send(message)
