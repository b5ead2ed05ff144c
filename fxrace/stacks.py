"""Where threads are: frames of other threads, and stacks as plain values.

CPython 3.11 makes frame objects only when somebody asks for them. Asking for another thread's
allocates; an allocation may start a garbage collection; a collected tensor gives the interpreter
lock away; and the other thread leaves the very frame that is being made into an object, which
then points to memory that is used again. A trial died of that (SIGSEGV in ``PyFrame_GetBack``).
Here therefore whole chains are made at once, with collection off: afterwards every frame of them
exists, and following ``f_back`` makes none. The lock is ours alone and held for microseconds.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate, chain, repeat
from operator import attrgetter
from types import FrameType
from typing import Any

FRAMES_KEPT = 60
_DEEPEST = 100_000
_GET: Any = getattr
_CODE_AND_LINE = attrgetter("f_code", "f_lineno")
_NAME = "co_qualname" if sys.version_info >= (3, 11) else "co_name"
_LOOKING = threading.RLock()


@contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage is collected meanwhile, so that what is read of a thread stays what it is.

    Also keeps ``sys._current_frames()`` from a deadlock: it allocates under a lock of the
    interpreter, and whoever asks for that one while a destructor runs closes a circle.
    """
    with _LOOKING:
        collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()


def frames_now() -> dict[int, FrameType]:
    """``sys._current_frames()``: the innermost frame by thread, safe to follow to the outermost."""
    with undisturbed():
        found = sys._current_frames()
        for frame in found.values():
            _callers(frame, _DEEPEST)
        return found


def frame_of(ident: int) -> FrameType | None:
    """The innermost frame of one thread, safe to follow; None when it has ended."""
    with undisturbed():
        frame = sys._current_frames().get(ident)
        _callers(frame, _DEEPEST)
        return frame


def stack_of(frame: FrameType | None) -> list[list[Any]]:
    """``[file, line, function]`` of a frame and its callers, innermost last.

    The frame must be the calling thread's own, or come from one of the functions above.
    """
    known = list(map(_CODE_AND_LINE, filter(None, _callers(frame, FRAMES_KEPT))))
    return [[code.co_filename, line, getattr(code, _NAME)] for code, line in known][::-1]


def _callers(frame: FrameType | None, most: int) -> list[Any]:
    """A frame and its callers. One call into C: no other thread runs on in the middle of it."""
    frames: list[Any] = []
    with suppress(AttributeError):  # what is kept of the list ends with None, which has no f_back
        frames.extend(accumulate(chain((frame,), repeat("f_back", most - 1)), _GET))
    return frames
