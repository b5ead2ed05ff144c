"""Modules that are in ``sys.modules`` and not imported to their end."""

from __future__ import annotations

import sys
import types
from typing import Any

from fxrace.probe.operations import Cost, Kind, Operation


def run(_: Any) -> Any:
    return [
        name
        for name, module in list(sys.modules.items())
        if type(module) is types.ModuleType
        and getattr(module.__dict__.get("__spec__"), "_initializing", False)
    ]


operation = Operation(run=run, kind=Kind.OBSERVER, cost=Cost.MEDIUM)
