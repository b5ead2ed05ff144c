"""Each drafter rehearses on its own thread, one at a time, in index order.

Forward and backward at every context length. A drafter whose predecessor does not finish within
``BOUND_S`` goes on without it: a hang is shown where it is, not made wider here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.contracts import Rehearsal

BOUND_S = 900.0
LOOK_S = 2.0


class OneByOne:
    """``_turn`` is the index of the drafter whose rehearsal it is."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turn = 0

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None: ...

    def in_drafter(
        self,
        rehearsal: Rehearsal,
        contexts: Sequence[int],
        others: int,  # noqa: ARG002 - the order needs no count
    ) -> None:
        self._await(rehearsal.drafter)
        try:
            for context in contexts:
                rehearsal.rehearse(context)
        finally:
            with self._changed:
                self._turn = max(self._turn, rehearsal.drafter + 1)
                self._changed.notify_all()

    def _await(self, drafter: int) -> None:
        deadline = time.monotonic() + BOUND_S
        with self._changed, participants.waiting("its turn to warm up"):
            while self._turn < drafter and time.monotonic() < deadline:
                self._changed.wait(LOOK_S)


part = Part(build=OneByOne, default=True)
