"""Seeded delays at the borders of traces and compiles, and a short switch interval.

Delays are powers of two from 0.25 to 16 ms, drawn per thread from the trial's seed, so the
same seed delays the same borders. They shake the schedule; they do not decide it (``hold``
does).
"""

from __future__ import annotations

import random
import sys
import threading
import time

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder

SWITCH_INTERVAL_S = 1e-4
_DELAYS_S = tuple(0.00025 * 2**i for i in range(7))


class Jitter:
    """Sleeps at region borders; restores the interpreter's switch interval when stopped."""

    listens = False

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._draws = threading.local()
        self._interval: float | None = None

    def start(self) -> None:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL_S)

    def inside(self, region: str) -> None:  # noqa: ARG002 - every region alike
        self._delay()

    def left(self, region: str) -> None:  # noqa: ARG002 - every region alike
        self._delay()

    def called(self) -> None: ...

    def stop(self) -> None:
        if self._interval is not None:
            sys.setswitchinterval(self._interval)

    def _delay(self) -> None:
        draw = getattr(self._draws, "random", None)
        if draw is None:
            name = threading.current_thread().name
            draw = self._draws.random = random.Random(f"{self._seed}:{name}")
        time.sleep(draw.choice(_DELAYS_S))


def build(recorder: Recorder, seed: str) -> Jitter:  # noqa: ARG001 - every part is built so
    return Jitter(seed)


part = Part(build=build)
