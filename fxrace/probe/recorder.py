"""Writes a trial's events to disk, one JSON line per event, safely from any thread.

No lock: each event is a single ``write`` to a descriptor opened with O_APPEND, which the kernel
applies whole, so lines of different threads never mix and everything written before a SIGKILL
is there to read. Nothing is buffered, so nothing is lost; events are a few hundred a trial.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any


class Recorder:
    """Appends events to one file. ``emit`` may be called from any thread, also in handlers."""

    def __init__(self, path: Path, *, began: float | None = None) -> None:
        self._began = time.monotonic() if began is None else began
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def emit(self, kind: str, **data: Any) -> None:
        """Record one event of this thread. ``data`` must be JSON-able; the rest becomes text."""
        line = {
            "at_s": round(time.monotonic() - self._began, 6),
            "thread": threading.current_thread().name,
            "ident": threading.get_ident(),
            "kind": kind,
            "data": data,
        }
        os.write(self._fd, json.dumps(line, default=repr).encode() + b"\n")

    def close(self) -> None:
        os.close(self._fd)
