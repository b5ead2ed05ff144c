"""Locks that say who holds them and who waits, for the harness and for hang reports.

A thread that must wait records ``lock/wait`` with the owner *before* it blocks, so that a process
that never comes back has already said in which circle it is. Each thread's outermost hold is
recorded as ``sync`` acquire and release, contended or not, while the lock is its own: that is
what orders two steps that never waited for each other.
"""

from __future__ import annotations

import threading
from types import TracebackType

from fxrace.probe.participants import participants
from fxrace.probe.recorder import Recorder


class NamedLock:
    """A reentrant lock with a name, owned by a *key* (a drafter) rather than by a thread.

    On CUDA a drafter's recompute and backward run on autograd's device thread while the drafter
    thread waits; keyed ownership lets both enter, where an RLock would dead-lock. Key None uses
    the thread's ident. ``recorder`` None records nothing.
    """

    def __init__(self, name: str, recorder: Recorder | None = None) -> None:
        self.name = name
        self._recorder = recorder
        self._changed = threading.Condition(threading.Lock())
        self._owner: object = None
        self._owner_thread: str | None = None
        self._depth = 0
        self._holds: dict[int, int] = {}

    @property
    def owner_thread(self) -> str | None:
        """The name of the thread that took it, None while nobody has."""
        return self._owner_thread

    def acquire(self, key: object = None) -> None:
        me = threading.get_ident() if key is None else key
        with self._changed:
            if self._depth and self._owner != me:
                self._wait(me)
            self._owner = me
            self._owner_thread = threading.current_thread().name
            self._depth += 1
            self._count(+1)

    def release(self) -> None:
        with self._changed:
            if not self._depth:
                raise RuntimeError(f"lock {self.name!r} released more often than acquired")
            self._count(-1)
            self._depth -= 1
            if not self._depth:
                self._owner = self._owner_thread = None
                self._changed.notify()

    def _count(self, change: int) -> None:
        """Count this thread's holds, and record the first one taken and the last one given up.

        By thread and not by key: a key's device thread does its part on a clock of its own.
        """
        ident = threading.get_ident()
        before = self._holds.pop(ident, 0)
        after = before + change
        if after:
            self._holds[ident] = after
        if self._recorder is not None and 0 in (before, after):
            edge = "acquire" if change > 0 else "release"
            self._recorder.emit("sync", edge=edge, key=f"lock:{self.name}", what="lock")

    def _wait(self, me: object) -> None:
        if self._recorder is not None:
            self._recorder.emit("lock", edge="wait", lock=self.name, owner=self._owner_thread)
        with participants.waiting(self.name):
            while self._depth and self._owner != me:
                self._changed.wait()
        if self._recorder is not None:
            self._recorder.emit("lock", edge="got", lock=self.name, owner=None)

    def held(self, key: object = None) -> _Held:
        """``with lock.held(key): ...``"""
        return _Held(self, key)


class _Held:
    def __init__(self, lock: NamedLock, key: object) -> None:
        self._lock, self._key = lock, key

    def __enter__(self) -> None:
        self._lock.acquire(self._key)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
