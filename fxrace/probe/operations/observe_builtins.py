"""Python's builtins and ``math``, which tracing patches, by what they are."""

from __future__ import annotations

import builtins
import math
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    found = {**vars(builtins), **vars(math)}
    return {name: type(value).__name__ for name, value in found.items() if callable(value)}


operation = Operation(run=run, kind=Kind.OBSERVER)
