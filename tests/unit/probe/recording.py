"""A recorder that keeps its events in memory, and threads that report what they raised."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fxrace.launch.record_file import read_trace
from fxrace.probe.recorder import Recorder
from fxrace.records.event import Event

BOUND_S = 30.0


class Recording:
    """``recorder`` writes, ``of`` reads back."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "events.jsonl"
        self.recorder = Recorder(self._path)

    def events(self) -> tuple[Event, ...]:
        return read_trace(self._path).events

    def of(self, *kinds: str) -> list[Event]:
        return list(read_trace(self._path).of(*kinds))


class Side:
    """A thread that runs ``work`` at once; ``result`` waits for it and re-raises."""

    def __init__(self, work: Callable[[], Any], name: str = "side") -> None:
        self._work = work
        self._value: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error

    @property
    def ident(self) -> int | None:
        return self._thread.ident

    def result(self) -> Any:
        self._thread.join(BOUND_S)
        assert not self._thread.is_alive(), "the thread does not come back"
        if self._error is not None:
            raise self._error
        return self._value
