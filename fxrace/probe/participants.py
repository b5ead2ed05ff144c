"""Which threads take part in a race: registered ones, and whether each could run right now.

Pressure asks this before it holds a thread: holding makes sense only while another participant
is neither blocked on a lock of ours nor gone. Updates are single dictionary stores, so the
program's path takes no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Participants:
    """The registered threads of one trial, by ident."""

    def __init__(self) -> None:
        self._waiting: dict[int, str | None] = {}
        self._everybody = False

    def take_everybody(self) -> None:
        """Every thread of the process takes part, registered or not: a program names none."""
        self._everybody = True

    @contextmanager
    def taking_part(self, name: str) -> Iterator[None]:
        """Register the current thread under this name for the length of the block."""
        thread, ident = threading.current_thread(), threading.get_ident()
        before, thread.name = thread.name, name
        self._waiting[ident] = None
        try:
            yield
        finally:
            self._waiting.pop(ident, None)
            thread.name = before

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Mark the current thread, if registered, as unable to run while in the block."""
        ident = threading.get_ident()
        if ident not in self._waiting and not self._everybody:
            yield
            return
        before = self._waiting.get(ident)
        self._waiting[ident] = what
        try:
            yield
        finally:
            self._waiting[ident] = before

    @contextmanager
    def idle(self, what: str) -> Iterator[None]:
        """``waiting`` for what another thread hands over, where everybody takes part.

        Where threads are registered, those that feed them are not, and such a wait will end.
        """
        if not self._everybody:
            yield
            return
        with self.waiting(what):
            yield

    def others_able(self) -> bool:
        """True when some registered thread other than this one could run."""
        me = threading.get_ident()
        if self._everybody:
            alive = [thread.ident for thread in threading.enumerate() if thread.ident != me]
            return any(self._waiting.get(ident or 0) is None for ident in alive)
        return any(w is None for i, w in list(self._waiting.items()) if i != me)


participants = Participants()
