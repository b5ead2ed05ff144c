"""Writes a trial's events to disk, one JSON line per event, safely from any thread.

Each event is a single ``write`` to a descriptor opened with O_APPEND, which the kernel applies
whole, so lines of different threads never mix and everything written before a SIGKILL is there to
read. Nothing is buffered, so nothing is lost; events are a few hundred a trial.

The surprise: a thread can *owe* an event. What only matters once another thread joins in (a warm
training step that hands work to autograd's engine) costs no line until then; the line is written
before the thread's own next one, or by the thread that joins in, whichever comes first.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A debt is one line long; waiting longer for its writer would mean that it was lost in a fork.
PAYING_S = 1.0
_CLOSED = -1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Owed:
    """An event that a thread will have emitted before its next one."""

    thread: threading.Thread
    ident: int
    kind: str
    data: dict[str, Any]


class Recorder:
    """Appends events to one file. ``emit`` may be called from any thread, also in handlers."""

    def __init__(self, path: Path, *, began: float | None = None) -> None:
        self._began = time.monotonic() if began is None else began
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._encoded = json.JSONEncoder(default=repr).encode
        self._owed: dict[int, list[Owed]] = {}
        self._paying = threading.RLock()

    def emit(self, kind: str, **data: Any) -> None:
        """Record one event of this thread. ``data`` must be JSON-able; the rest becomes text."""
        ident = threading.get_ident()
        if self._owed.get(ident):
            self.pay(ident)
        self._write(threading.current_thread().name, ident, kind, data)

    def owe(self, kind: str, **data: Any) -> Owed:
        """This event belongs here, in this thread, but need not be on record until it matters."""
        ident = threading.get_ident()
        owed = Owed(thread=threading.current_thread(), ident=ident, kind=kind, data=data)
        self._owed.setdefault(ident, []).append(owed)
        return owed

    def forgive(self, owed: Owed) -> bool:
        """The debtor itself says that the event no longer matters; False if it was written."""
        mine = self._owed[owed.ident]
        if owed not in mine:
            return False
        with suppress(ValueError):  # its writer may have been quicker
            mine.remove(owed)
            return True
        return False

    def pay(self, ident: int) -> None:
        """Write what the thread owes, in its name. Any thread may: its debtor wrote nothing since.

        Locked, because the debtor's next line must not get between the look and the write.
        """
        got = self._paying.acquire(timeout=PAYING_S)
        try:
            mine = self._owed.get(ident, [])
            while mine:
                owed = mine[0]
                self._write(owed.thread.name, ident, owed.kind, owed.data)
                if owed in mine:
                    mine.remove(owed)
        finally:
            if got:
                self._paying.release()

    def close(self) -> None:
        """What is emitted afterwards is dropped: a thread may come out of a wait that it entered
        while hooks were on, and the descriptor's number may be another file's by then.
        """
        closed, self._fd = self._fd, _CLOSED
        os.close(closed)

    def _write(self, thread: str, ident: int, kind: str, data: dict[str, Any]) -> None:
        line = {
            "at_s": round(time.monotonic() - self._began, 6),
            "thread": thread,
            "ident": ident,
            "kind": kind,
            "data": data,
        }
        text, fd = self._encoded(line).encode() + b"\n", self._fd
        if fd != _CLOSED:
            os.write(fd, text)
