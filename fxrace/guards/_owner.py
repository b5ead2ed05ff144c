"""The lock of ``one_owner``: one thread traces or compiles, and the owner may lend its place.

It stands where ``compile_lock`` stood and takes that one inside. A waiter is let in beside the
owner, as long as it needs, when the owner itself is seen to stand in a wait (a join, a future,
a condition, the autograd engine) that it entered from code not the compiler's own:
then it waits for somebody, who may be us. So does one that has not left one instruction of
anybody's code but the compiler's for ten seconds. The owner's next step into the lock waits until
such a guest is out. If an owner does not move for ``patience_s`` and no guest is let in, the
waiter gets a ``GuardTimeout`` with both names.

The surprise: an Inductor build waits too, for its workers. That is no reason to let anybody in.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

from fxrace.guards._contract import GuardTimeout
from fxrace.stacks import frame_of

LOOK_S = 0.05
STILL_LOOKS = 4
#: An owner at one and the same instruction for so long waits in a way that has no Python frame.
STILL_S = 10.0
PATIENCE_S = 300.0

_WAITS = (
    "threading.py", "queue.py", "concurrent/futures/", "multiprocessing/pool.py",
    "fxrace/probe/hooks/synchronisation.py",
)  # fmt: skip
_ENGINE = "torch/autograd/graph.py"
_COMPILERS = ("torch/_inductor/", "torch/_dynamo/", "triton/", "subprocess.py")
#: fxrace holds threads where a system could preempt them: such a thread waits for nobody.
_HELD = ("fxrace/probe/explore/", "fxrace/probe/pressure/")


class Owner:
    """A reentrant lock with guests. Same interface as the ``RLock`` it replaces.

    ``waits`` gives the context that a thread is in while it waits, for an observer to set.
    """

    waits: Callable[[], AbstractContextManager[Any]] = staticmethod(nullcontext)

    def __init__(self, real: Callable[[], Any], patience_s: float = PATIENCE_S) -> None:
        self._real, self._patience_s = real, patience_s
        self._changed = threading.Condition(threading.Lock())
        self._inside: list[list[Any]] = []  # [thread, depth, the real lock or None]
        self.guests = 0

    @property
    def holder(self) -> int:
        """The thread that traces or compiles now, 0 for none."""
        inside = tuple(self._inside)
        return inside[-1][0] if inside else 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        me = threading.get_ident()
        limit = None if timeout < 0 else time.monotonic() + timeout
        with self._changed:
            return self._try(me) or (blocking and self._wait(me, limit))

    def _wait(self, me: int, limit: float | None) -> bool:
        watch = _Watch()
        with self.waits():
            while not self._try(me):
                if limit is not None and time.monotonic() >= limit:
                    return False
                self._changed.wait(LOOK_S)
                self._consider(me, self.holder, watch)
        return True

    def release(self) -> None:
        me = threading.get_ident()
        with self._changed:
            place = next(one for one in reversed(self._inside) if one[0] == me)
            place[1] -= 1
            if place[1]:
                return
            self._inside.remove(place)
            if place[2] is not None:
                place[2].release()
            self._changed.notify_all()

    def _is_owned(self) -> bool:
        me = threading.get_ident()
        return any(place[0] == me for place in tuple(self._inside))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _try(self, me: int) -> bool:
        if self._inside:
            if self._inside[-1][0] != me:
                return False
            self._inside[-1][1] += 1
            return True
        real = self._real()
        if not real.acquire(False):
            return False
        self._inside.append([me, 1, real])
        return True

    def _consider(self, me: int, holder: int, watch: _Watch) -> None:
        """Let this thread in beside an owner that waits; give up on one that is stuck."""
        frame = frame_of(holder)
        watch.look(holder, frame)
        stranger = bool(holder) and not any(place[0] == me for place in self._inside)
        if stranger and watch.lets_in(frame):
            self._inside.append([me, 0, None])
            self.guests += 1
        elif time.monotonic() - watch.since > self._patience_s:
            raise GuardTimeout(
                f"thread {_name(me)!r} has waited {self._patience_s:g} s to trace or compile, and "
                f"thread {_name(holder)!r}, which does, has not moved: it is at {_place(frame)}",
                remedy="if that one waits for this one, use the guard isolated",
            )


class _Watch:
    """Whether the owner has moved since one began to look."""

    def __init__(self) -> None:
        self._seen: tuple[Any, ...] = ()
        self.still, self.since = 0, time.monotonic()

    def look(self, holder: int, frame: FrameType | None) -> None:
        at = (holder, frame and id(frame.f_code), frame and frame.f_lasti, _depth(frame))
        if at == self._seen:
            self.still += 1
        else:
            self._seen, self.still, self.since = at, 0, time.monotonic()

    def lets_in(self, frame: FrameType | None) -> bool:
        """Whether the owner waits, as far as can be seen."""
        if waits_for_somebody(frame):
            return self.still >= STILL_LOOKS
        still = self.still >= STILL_LOOKS and time.monotonic() - self.since > STILL_S
        return still and not _of_a_compiler(frame)


def waits_for_somebody(frame: FrameType | None) -> bool:
    """Whether a thread's innermost frame is in a wait that its own code asked for."""
    if frame is None:
        return False
    if _ENGINE in _file(frame):
        return True
    if not any(part in _file(frame) for part in _WAITS):
        return False
    while frame is not None and any(part in _file(frame) for part in _WAITS):
        frame = frame.f_back
    return not _of_a_compiler(frame)


def _of_a_compiler(frame: FrameType | None) -> bool:
    return frame is None or any(part in _file(frame) for part in (*_COMPILERS, *_HELD))


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.replace("\\", "/")


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


def _name(thread: int) -> str:
    if not thread:
        return "unknown: it took the lock before the guard came"
    known = {one.ident: one.name for one in threading.enumerate()}
    return known.get(thread) or f"{thread} (not started by Python)"


def _place(frame: FrameType | None) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "its end"
