"""Python's builtins and ``math``, which tracing patches."""

from __future__ import annotations

import builtins
import math
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    found = {**vars(builtins), **vars(math)}
    return {
        name: f"{getattr(value, '__module__', None)}.{value.__qualname__}"
        for name, value in found.items()
        if hasattr(value, "__qualname__")
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
