"""One record per process: a forked child writes into a file of its own from its first event on.

Why: two processes that append to one record mix two orders of events, and a thread that exists
in the parent only would seem to hold its regions for ever. The surprise: the recorder keeps its
descriptor, because hooks hold the recorder; only what the descriptor means is exchanged.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from fxrace.probe.recorder import Recorder
from fxrace.records.event import Event, Trace

FIRST, FORKED = "events.jsonl", "events-{pid}.jsonl"


class OwnRecord:
    """``recorder`` writes ``directory/events.jsonl``, in a fork ``events-<pid>.jsonl``."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._path = directory, directory / FIRST
        self.recorder = Recorder(self._path)
        os.register_at_fork(after_in_child=self._go_on_apart)

    def trace(self) -> Trace:
        """What this process has recorded so far, read with the standard library alone."""
        lines = self._path.read_bytes().splitlines()
        return Trace(events=tuple(Event(**json.loads(line)) for line in lines))

    def _go_on_apart(self) -> None:
        self._path = self._directory / FORKED.format(pid=os.getpid())
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, self.recorder._fd, inheritable=False)
        os.close(file)
