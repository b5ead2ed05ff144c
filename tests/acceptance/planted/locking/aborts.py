"""Planted: drafter 1 calls os.abort in its first step, as a failing native assertion would."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness.contracts import Call

T = TypeVar("T")


class Aborts:
    """Everything else runs as if there were no lock."""

    def __init__(self, recorder: Recorder | None = None) -> None: ...

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if call.site == "step" and call.drafter == 1:
            os.abort()
        return work()

    def close(self) -> None: ...


part = Part(build=Aborts)
