"""A dedicated thread makes every call that may trace or compile; warm calls stay at home.

A call is cold when its key was not seen before for its drafter. Parts that trace on each call
give every call a key of its own, so all of theirs go to the thread. Lazy backward compiles are
not calls and stay where autograd runs them: this strategy does not cover them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.contracts import Call
from harness.handover import Errand

T = TypeVar("T")
NAME = "compiler"
LOOK_S = 2.0
CLOSE_S = 60.0


class OneCompilerThread:
    """The thread starts with the first cold call, so that a trial without any has none."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._errands: queue.SimpleQueue[Errand[Any] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._seen: set[tuple[int, tuple[Any, ...]]] = set()

    def around(self, call: Call, work: Callable[[], T]) -> T:
        at_home = not call.compiled or threading.current_thread() is self._thread
        if at_home or not self._cold(call):
            return work()
        errand = Errand(work)
        with participants.waiting(NAME):
            thread = self._hand_over(errand)
            while not errand.wait(LOOK_S):
                if not thread.is_alive():
                    raise RuntimeError("the compiler thread is gone")
        return errand.outcome()

    def close(self) -> None:
        """End the thread after what is already queued; waits for it, bounded."""
        with self._mutex:
            self._closed, thread = True, self._thread
        if thread is not None:
            self._errands.put(None)
            thread.join(CLOSE_S)

    def _cold(self, call: Call) -> bool:
        mark = (call.drafter, call.key)
        with self._mutex:
            cold = mark not in self._seen
            self._seen.add(mark)
        return cold

    def _hand_over(self, errand: Errand[Any]) -> threading.Thread:
        with self._mutex:
            if self._closed:
                raise RuntimeError("the compiler thread is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=NAME, daemon=True)
                self._thread.start()
            self._errands.put(errand)
            return self._thread

    def _serve(self) -> None:
        with participants.taking_part(NAME):
            while True:
                with participants.waiting("work"):
                    errand = self._errands.get()
                if errand is None:
                    return
                errand.run()
                del errand  # its result belongs to the thread that waits for it


part = Part(build=OneCompilerThread)
