"""One draw from Python's ``random``, not seeded by us."""

from __future__ import annotations

import random
from typing import Any

from fxrace.probe.operations import Operation, Reuse


def prepare() -> Any:
    random.seed(3)


def run(_: Any) -> Any:
    return random.random()


operation = Operation(prepare=prepare, run=run, reuse=Reuse.ONCE)
