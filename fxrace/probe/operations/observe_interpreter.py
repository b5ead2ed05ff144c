"""Settings of the interpreter: recursion, collection, hooks."""

from __future__ import annotations

import gc
import sys
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "recursion": sys.getrecursionlimit(),
        "switch": sys.getswitchinterval(),
        "collecting": gc.isenabled(),
        "excepthook": sys.excepthook.__qualname__,
        "dont_write_bytecode": sys.dont_write_bytecode,
        "path": len(sys.path),
        "stdout": type(sys.stdout).__qualname__,
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
