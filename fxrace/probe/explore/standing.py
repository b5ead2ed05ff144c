"""Does a thread that comes to no point stand still, or is it busy? And what does it stand in?

A thread that compiles is busy for minutes and must not be passed over; one that waits for a lock
must. Standing means, at every look for the whole grace time: it used no processor, the system
says it sleeps, and its innermost frame is at the same instruction. Waiting for a child process
(a C++ compiler) is work that happens elsewhere, and counts as busy. The surprise: a thread that
only lacks a processor on a full machine uses none either, which is why the system is asked.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from fxrace.guards._owner import Owner
from fxrace.probe.locks import NamedLock
from fxrace.stacks import undisturbed

#: Waking up for the interpreter lock every few milliseconds costs this little.
IDLE_S = 0.0005
#: Of the whole process, the one that looks included, between two looks.
BUSY_S = 0.004
_ELSEWHERE = ("subprocess.py", "selectors.py", "multiprocessing/connection.py")
_OWNER = re.compile(r"owner=(\d+)")
_RLOCK = type(threading.RLock())
_LOOK_DEEP = 3


class Standing:
    """Looks at one thread; how many looks in a row it has stood."""

    def __init__(self, ident: int, native_id: int) -> None:
        self._ident, self._native = ident, native_id
        self._last: tuple[float, int, int] | None = None
        self.looks = 0

    def look(self, frame: FrameType) -> None:
        """Compare with the last look. The thread must be alive (its clock is gone with it)."""
        now = (_processor_s(self._ident), id(frame), frame.f_lasti)
        still = (
            self._last is not None
            and now[1:] == self._last[1:]
            and now[0] - self._last[0] < IDLE_S
            and _sleeps(self._native)
            and not works_elsewhere(frame)
        )
        self._last = now
        self.looks = self.looks + 1 if still else 0

    def reset(self) -> None:
        self._last, self.looks = None, 0


class Idle:
    """At how many looks in a row no thread of the process did anything.

    A participant may wait for one that takes no part (a device thread of autograd, a pool): then
    nobody is stuck.
    """

    def __init__(self) -> None:
        self._last = time.process_time()
        self.looks = 0

    def look(self) -> None:
        now, before = time.process_time(), self._last
        self._last = now
        self.looks = self.looks + 1 if now - before < BUSY_S else 0


def works_elsewhere(frame: FrameType | None) -> bool:
    """True where one of the innermost frames waits for a process that does the work."""
    for _ in range(_LOOK_DEEP):
        if frame is None:
            return False
        if frame.f_code.co_filename.replace("\\", "/").endswith(_ELSEWHERE):
            return True
        frame = frame.f_back
    return False


def described(frame: FrameType) -> str:
    """Where a thread stands, in words without lines: ``acquire of RLock in module:function``."""
    code = frame.f_code
    name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
    return f"{frame.f_globals.get('__name__', '?')}:{name}"


def lock_owner(frame: FrameType, waiter: int) -> int | None:
    """The ident of another thread that owns a lock in sight of this frame, if one can be told.

    Plain locks have no owner; a reentrant one tells it in its ``repr``, a named one its name, and
    the guard ``one_owner`` its holder.
    """
    with undisturbed():
        for lock in _in_sight(frame):
            told = _OWNER.search(repr(lock))
            if told and int(told.group(1)) not in (0, waiter):
                return int(told.group(1))
        return _owner_of_named(frame)


def _owner_of_named(frame: FrameType | None) -> int | None:
    """Of the lock of ours that one of the innermost frames waits for."""
    for _ in range(_LOOK_DEEP):
        lock = None if frame is None else frame.f_locals.get("self")
        if isinstance(lock, NamedLock):
            alive = {thread.name: thread.ident for thread in threading.enumerate()}
            return alive.get(lock.owner_thread or "")
        if isinstance(lock, Owner):
            return lock.holder or None
        frame = None if frame is None else frame.f_back
    return None


def _in_sight(frame: FrameType) -> list[Any]:
    names = frame.f_code.co_names
    found = list(frame.f_locals.values())
    found += [frame.f_globals[name] for name in names if name in frame.f_globals]
    self_ = frame.f_locals.get("self")
    found += list(getattr(self_, "__dict__", {}).values())
    return [one for one in found if isinstance(one, _RLOCK)]


def _processor_s(ident: int) -> float:
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(ident))
    except (AttributeError, OSError):
        return 0.0


def _sleeps(native_id: int) -> bool:
    """What the system says; True where it cannot be asked, so that the other signs decide."""
    try:
        text = Path(f"/proc/self/task/{native_id}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] == "S"
