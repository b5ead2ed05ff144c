"""Happens-before edges, recorded only where they order something.

A release tells later acquirers of its key what this thread has done; an acquire takes that over.
Most pass nothing on: a queue that feeds a warm loop a million times orders no trace and no
compile. So a release is recorded only if the thread has entered a region or learnt of one since
its last release of that key, and an acquire only if the key was released since its last one: in
steady state, nothing. The surprise: a thread takes over what its starter knew at its own first
act, and says what a joiner must know after every act, so that no thread's code is wrapped.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions

THREAD = "thread"
_KEY, _BORN = "_fxrace_key", "_fxrace_born"


class _Self(threading.local):
    """What the current thread knows: ``learnt`` counts acquires, the rest is by key."""

    def __init__(self) -> None:
        self.known = False
        self.learnt = 0
        self.released: dict[str, tuple[int, int]] = {}
        self.acquired: dict[str, int] = {}


class Edges:
    """``release`` and ``acquire`` by any object. No lock is taken."""

    def __init__(self, recorder: Recorder, regions: Regions) -> None:
        self._recorder, self._regions = recorder, regions
        self._self = _Self()
        self._numbers = itertools.count(1)
        self._releases: dict[str, int] = {}
        self._keys: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        regions.outermost(self._introduce, self._tell_joiners)

    def release(self, thing: Any, what: str) -> None:
        """What this thread has done so far comes before every later acquire of ``thing``."""
        self._introduce()
        if self._release(self.key_of(thing, what), what):
            self._tell_joiners()

    def acquire(self, thing: Any, what: str) -> None:
        """Every earlier release of ``thing`` comes before what this thread does from now on."""
        self._introduce()
        if self._acquire(self.key_of(thing, what), what):
            self._tell_joiners()

    def starts(self, thread: threading.Thread) -> None:
        """The current thread is about to start this one."""
        self._introduce()
        key = f"start:{next(self._numbers)}"
        thread.__dict__[_BORN] = key
        self._release(key, THREAD)

    def joined(self, thread: threading.Thread) -> None:
        """The current thread has seen the other one's end."""
        self._introduce()
        born = thread.__dict__.get(_BORN)
        if born is not None and self._acquire(_end(born), THREAD):
            self._tell_joiners()

    def key_of(self, thing: Any, what: str) -> str:
        """The same short name for the same object, for as long as it lives."""
        key = getattr(thing, _KEY, None) or self._keys.get(thing)
        if key is None:
            key = f"{what}:{next(self._numbers)}"
            try:
                setattr(thing, _KEY, key)
            except AttributeError:  # a plain lock takes no attributes, but can be referred to
                self._keys[thing] = key
        return str(key)

    def _introduce(self) -> None:
        """Before its first act, a thread learns what its starter knew."""
        if not self._self.known:
            self._self.known = True
            born = threading.current_thread().__dict__.get(_BORN)
            if born is not None:
                self._acquire(born, THREAD)

    def _tell_joiners(self) -> None:
        born = threading.current_thread().__dict__.get(_BORN)
        if born is not None:
            self._release(_end(born), THREAD)

    def _release(self, key: str, what: str) -> bool:
        mine = self._self
        version = (self._regions.last_of(threading.get_ident()), mine.learnt)
        if version == (0, 0) or mine.released.get(key) == version:
            return False
        mine.released[key] = version
        self._releases[key] = self._releases.get(key, 0) + 1
        self._recorder.emit("sync", edge="release", key=key, what=what)
        return True

    def _acquire(self, key: str, what: str) -> bool:
        mine, releases = self._self, self._releases.get(key, 0)
        if mine.acquired.get(key, 0) == releases:
            return False
        mine.acquired[key] = releases
        mine.learnt += 1
        self._recorder.emit("sync", edge="acquire", key=key, what=what)
        return True


def _end(born: str) -> str:
    return born.replace("start:", "end:")
