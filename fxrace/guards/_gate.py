"""A readers-writer gate that cannot dead-lock with itself.

Any number of threads run, or one traces. A writer is let in again, a reader too; a reader that
must trace gives its share up while it waits and has it back afterwards, so two readers who both
come to trace do not wait for each other. New readers stand behind a waiting writer. Every wait
ends after ``patience_s`` with the names of those inside.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fxrace.guards._contract import GuardTimeout

PATIENCE_S = 300.0


class Gate:
    """``reading()`` and ``writing()``, both usable in any nesting."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self._changed = threading.Condition(threading.Lock())
        self._readers: dict[int, int] = {}
        self._writer, self._depth = 0, 0
        self._wanting = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._changed:
            if self._writer != me and me not in self._readers:
                self._wait(lambda: not self._writer and not self._wanting, "run")
            if self._writer != me:
                self._readers[me] = self._readers.get(me, 0) + 1
                mine = True
            else:
                mine = False
        try:
            yield
        finally:
            if mine:
                with self._changed:
                    self._leave(me)

    @contextmanager
    def writing(self) -> Iterator[None]:
        share = self.acquire()
        try:
            yield
        finally:
            self.release(share)

    def acquire(self) -> int:
        """Become the writer. Returns the share of reading that was given up for it."""
        me = threading.get_ident()
        with self._changed:
            if self._writer == me:
                self._depth += 1
                return 0
            share = self._readers.pop(me, 0)
            self._wanting += 1
            self._changed.notify_all()
            try:
                self._wait(lambda: not self._writer and not self._readers, "trace")
            except BaseException:
                self._give_back(me, share)
                raise
            finally:
                self._wanting -= 1
                self._changed.notify_all()
            self._writer, self._depth = me, 1
            return share

    def release(self, share: int) -> None:
        me = threading.get_ident()
        with self._changed:
            self._depth -= 1
            if self._depth:
                return
            self._writer = 0
            self._give_back(me, share)
            self._changed.notify_all()

    def writes(self) -> bool:
        """Whether this thread is the writer."""
        return self._writer == threading.get_ident()

    def _give_back(self, me: int, share: int) -> None:
        if share:
            self._readers[me] = share

    def _leave(self, me: int) -> None:
        left = self._readers[me] - 1
        if left:
            self._readers[me] = left
        else:
            del self._readers[me]
            self._changed.notify_all()

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        if self._changed.wait_for(condition, self.patience_s):
            return
        names = {one.ident: one.name for one in threading.enumerate()}
        inside = [self._writer] if self._writer else list(self._readers)
        who = ", ".join(repr(names.get(one, str(one))) for one in inside) or "a waiting writer"
        raise GuardTimeout(
            f"thread {threading.current_thread().name!r} has waited {self.patience_s:g} s to "
            f"{what}; inside: {who}",
            remedy="a thread inside waits for this one, or a block of running() is too wide",
        )
