"""Waits for ``convert_frame.compile_lock``: who stands before Dynamo's one lock, and who holds it.

The module attribute is looked up on every use (2.3 to 2.15), so a stand-in that forwards to the
real lock sees every user. It changes no order: the real lock is taken and released exactly when
it would have been, and an uncontended acquisition records nothing.
"""

from __future__ import annotations

import threading
from typing import Any

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.participants import participants
from fxrace.probe.recorder import Recorder
from fxrace.probe.watching import Watching

KNOWN = "2.3 to 2.15"
AFTER = "torch._dynamo.convert_frame"
NAME = "torch._dynamo.compile_lock"


def attach(watching: Watching) -> Detach:
    import torch._dynamo.convert_frame as convert

    real = getattr(convert, "compile_lock", None)
    if real is None:
        raise Blind("torch._dynamo.convert_frame has no compile_lock")
    convert.compile_lock = _Forwarding(real, watching.recorder)

    def detach() -> None:
        convert.compile_lock = real

    return detach


class _Forwarding:
    """The real reentrant lock, with waits recorded before they begin.

    While anybody waits, who gets the lock is recorded too: it may have passed through several
    hands between the beginning of a wait and the hang. ``_waiting`` is only a hint (its updates
    are not atomic); ``_depth`` and ``_owner`` are written by the holder alone.
    """

    def __init__(self, real: Any, recorder: Recorder) -> None:
        self._real, self._recorder = real, recorder
        self._owner: str | None = None
        self._depth = self._waiting = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        got = bool(self._real.acquire(False))
        contended = not got or self._waiting > 0
        if not got and blocking:
            self._recorder.emit("lock", edge="wait", lock=NAME, owner=self._owner)
            self._waiting += 1
            try:
                with participants.waiting(NAME):
                    got = bool(self._real.acquire(True, timeout))
            finally:
                self._waiting -= 1
        if got:
            self._depth += 1
            self._owner = threading.current_thread().name
            if contended and self._depth == 1:
                self._recorder.emit("lock", edge="got", lock=NAME, owner=self._owner)
        return got

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._real.release()

    def _is_owned(self) -> bool:
        return bool(self._real._is_owned())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()
