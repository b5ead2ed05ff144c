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
        if ident not in self._waiting:
            yield
            return
        self._waiting[ident] = what
        try:
            yield
        finally:
            self._waiting[ident] = None

    def others_able(self) -> bool:
        """True when some registered thread other than this one could run."""
        me = threading.get_ident()
        return any(w is None for i, w in list(self._waiting.items()) if i != me)


participants = Participants()
