"""All drafters rehearse at once, each on its own thread: the race itself, as a warm-up.

They start together at a barrier. A drafter that waits longer than ``BOUND_S`` for the others
goes on alone: a drafter that died before must not take this one with it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.contracts import Rehearsal

BOUND_S = 60.0


class AllAtOnce:
    """One barrier per number of parties: the single-threaded oracle comes alone."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._barriers: dict[int, threading.Barrier] = {}

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None: ...

    def in_drafter(self, rehearsal: Rehearsal, contexts: Sequence[int], others: int) -> None:
        with self._mutex:
            barrier = self._barriers.setdefault(others, threading.Barrier(others))
        try:
            with participants.waiting("the others, to warm up together"):
                barrier.wait(BOUND_S)
        except threading.BrokenBarrierError:
            pass
        for context in contexts:
            rehearsal.rehearse(context)


part = Part(build=AllAtOnce)
