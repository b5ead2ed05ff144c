"""What attention did, per thread: how many calls, and how many of them ran dense.

Counting takes no lock: each thread writes its own cell. A thread is known by its name at the
end, because that is what reports show; autograd's device threads have names of their own.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

from fxrace.probe.recorder import Recorder


class PerThread:
    """A count that every thread raises without waiting for the others."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, str], int] = {}

    def add(self) -> None:
        cell = _me()
        self._cells[cell] = self._cells.get(cell, 0) + 1

    @property
    def here(self) -> int:
        """The current thread's count, under its current name."""
        return self._cells.get(_me(), 0)

    def by_name(self) -> dict[str, int]:
        """Thread name -> count; threads of one name are added up."""
        total: Counter[str] = Counter()
        for (_, name), count in list(self._cells.items()):
            total[name] += count
        return dict(total)


def _me() -> tuple[int, str]:
    return threading.get_ident(), threading.current_thread().name


class Counters:
    """One trial's attention counts, and what its attention parts have to say about themselves."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._undo = ExitStack()
        self._once: set[tuple[str, ...]] = set()
        self.calls, self.dense = PerThread(), PerThread()

    def note(self, text: str) -> None:
        """Say it once per trial, however many drafters ask."""
        if self._is_new("note", text):
            self.recorder.emit("note", text=text)

    def blind(self, what: str, reason: str) -> None:
        """Say once that something cannot be seen on this torch."""
        if self._is_new("blind", what):
            self.recorder.emit("blind", what=what, reason=reason)

    def attach_once(self, name: str, attach: Callable[[], Callable[[], None]]) -> None:
        """Attach a hook for the length of the trial; a second call of the same name does nothing.

        ``attach`` returns the function that undoes it.
        """
        if self._is_new("attach", name):
            self._undo.callback(attach())

    def finish(self, *, fused: bool) -> None:
        """Undo the hooks and record the counts. ``fused`` is what the part promised."""
        self._undo.close()
        self.recorder.emit(
            "attention", calls=self.calls.by_name(), dense=self.dense.by_name(), fused=fused
        )

    def _is_new(self, *key: str) -> bool:
        if key in self._once:
            return False
        self._once.add(key)
        return True
