"""The thread that runs B again and again, and whether a thread stands.

One thread serves all stops of a run: what a thread keeps for itself (grad mode, contexts) is then
B's own, as it would be in a program. Waiting for it is bounded by what it does and not by the
clock alone: a thread that uses the processor is busy and may take its time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

from fxrace.probe.explore import canonical
from fxrace.probe.explore.interference_points import Points
from fxrace.probe.explore.standing import Standing, lock_owner
from fxrace.probe.operations import Operation, Reuse
from fxrace.stacks import frame_of, stack_of

_SOON_S, _LOOK_S = 0.02, 0.01
#: Looks in a row: of a thread that waits for a lock whose owner is known, and of any other.
_KNOWN, _UNKNOWN, _LONG = 3, 100, 400


T = TypeVar("T")


class Wait(Enum):
    ENDED = "ended"
    BLOCKED = "blocked"
    """It waits for something the other thread holds."""
    STOPPED = "stopped"
    """It came to the point where it was to stop."""


class Job:
    """One run of B."""

    def __init__(self, until: str) -> None:
        self.until = until
        self.outcome: dict[str, Any] = {}
        self._ended, self._at, self._go = (threading.Event() for _ in range(3))
        self._moved = threading.Semaphore(0)

    def done(self) -> bool:
        return self._ended.is_set()

    def stopped(self) -> bool:
        return self._at.is_set() and not self._go.is_set()

    def end(self, outcome: dict[str, Any]) -> None:
        self.outcome = outcome
        self._ended.set()
        self._moved.release()

    def stand(self) -> None:
        """In B's thread, at its point: until it is told to go on."""
        self._at.set()
        self._moved.release()
        self._go.wait(600.0)

    def go_on(self) -> None:
        self._go.set()

    def moved(self, timeout_s: float) -> bool:
        return self._moved.acquire(timeout=timeout_s)


class Worker:
    """B's thread."""

    def __init__(self, operation: Operation, subjects: Sequence[Any]) -> None:
        self._operation, self._subjects, self._next = operation, subjects, 0
        self._job: Job | None = None
        self._work = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, name="B", daemon=True)
        self._thread.start()

    def begin(self, until: str = "") -> Job:
        """Start one run. The one before must have ended."""
        self._job = Job(until)
        self._work.release()
        return self._job

    def next_subject(self) -> None:
        """The present subject may be spoilt: the next run gets another, while there are any."""
        if self._next < len(self._subjects) - 1:
            self._next += 1

    def wait(self, job: Job) -> Wait:
        """Until it ended, came to its point, or waits for the calling thread."""
        found = self._wait(job, _UNKNOWN, threading.get_ident())
        return Wait.BLOCKED if found is None else found

    def wait_long(self, job: Job) -> bool:
        """Until it ended; False when it stands and nobody will wake it."""
        return self._wait(job, _LONG, 0) is Wait.ENDED

    def _wait(self, job: Job, looks: int, me: int) -> Wait | None:
        standing: Standing | None = None
        timeout_s = _SOON_S
        while not job.moved(timeout_s):
            timeout_s = _LOOK_S
            frame = frame_of(self._thread.ident or 0)
            if frame is None:
                continue
            standing = standing or Standing(self._thread.ident or 0, self._thread.native_id or 0)
            standing.look(frame)
            mine = (
                me and standing.looks >= _KNOWN and lock_owner(frame, self._thread.ident or 0) == me
            )
            if mine or standing.looks >= looks:
                return None
        return Wait.ENDED if job.done() else Wait.STOPPED

    def frames(self) -> list[list[Any]]:
        """Its stack now, without this module's own frames."""
        found = stack_of(frame_of(self._thread.ident or 0))
        return [one for one in found if one[0] != __file__]

    def _serve(self) -> None:
        while True:
            self._work.acquire()
            job = self._job
            if job is None:
                return
            job.end(self._outcome(job))

    def _outcome(self, job: Job) -> dict[str, Any]:
        subject = self._subjects[self._next]
        if self._operation.reuse is not Reuse.WARM:
            self.next_subject()
        try:
            if job.until:
                sys.setprofile(Points(lambda name, _: job.stand() if name == job.until else None))
            try:
                result = self._operation.run(subject)
            finally:
                if job.until:
                    sys.setprofile(None)
            return canonical.returned(result)
        except BaseException as error:
            return canonical.raised(error)


def elsewhere(work: Callable[[], T]) -> T:
    """Call this in a thread of its own and wait: the caller's modes would trace what it does."""
    found: list[T] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(60.0)
    return found[0]


def stands(thread: threading.Thread, excused: Callable[[], bool]) -> bool:
    """Wait for a thread; True when it stands for good. ``excused``: it is stopped by us."""
    standing: Standing | None = None
    while True:
        thread.join(_LOOK_S * 4)
        if not thread.is_alive():
            return False
        frame = frame_of(thread.ident or 0)
        if frame is None:
            continue
        standing = standing or Standing(thread.ident or 0, thread.native_id or 0)
        if excused():
            standing.reset()
        else:
            standing.look(frame)
        if standing.looks >= _UNKNOWN:
            return True
