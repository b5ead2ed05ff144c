"""One run: A in a thread of its own, stopped at some of its points while B runs in another.

Lives in a fork and is never reused. Says one ``stop`` for every stop that was worth a word (B's
outcome is none that running alone gives, B left a State changed, B had to wait) and one ``end``.

A B that waits for a lock that A holds is no fault: A goes on, and is caught again just after it
gave the lock up, so that B still runs to its end in one piece. What never ends is said as
``hung`` with the stacks of both.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from fxrace.probe.explore import canonical
from fxrace.probe.explore.interference_course import Course, Order, Outcome, Prepared
from fxrace.probe.explore.interference_fork import Say
from fxrace.probe.explore.interference_heal import Healing
from fxrace.probe.explore.interference_points import Points
from fxrace.probe.explore.interference_states import Reading
from fxrace.probe.explore.interference_thread import (
    Job,
    Wait,
    Worker,
    stands,
)
from fxrace.stacks import frame_of, stack_of


class Run:
    """See the module. ``go`` is called once, in the fork's main thread."""

    def __init__(self, prepared: Prepared, course: Course, say: Say) -> None:
        self._prepared, self._course, self._say = prepared, course, say
        self._reader = prepared.reader
        self._b = Worker(prepared.b, prepared.b_subjects)
        self._points = Points(self._at)
        self._outcome: Outcome | None = None
        self._pending: tuple[Job, str] | None = None
        self._stopped = False
        self._count = self._used = 0
        self._lock = _compile_lock()
        self._healing = Healing(self._reader, course, say)

    def go(self) -> None:
        if self._course.order is Order.B_ONLY:
            self._serial("first")
            self._serial("again")
            return
        if self._course.order is Order.B_FIRST:
            self._serial("first")
        thread = threading.Thread(target=self._run_a, name="A", daemon=True)
        thread.start()
        if not self._until_a_ended(thread):
            return
        if self._pending is not None and not self._settle_pending():
            return
        reading = self._reader.read()
        self._healing.say_undone()
        if self._course.order is Order.A_FIRST:
            self._serial("first")
        self._serial("again")
        off = self._reader.off(reading)
        self._say(
            {
                "is": "end",
                "a": self._outcome,
                "off": off,
                "values": self._reader.told(off, reading),
                "baseline": self._reader.told(off, self._reader.baseline),
                "points": self._count,
                "stopped": self._used,
            }
        )

    def _run_a(self) -> None:
        operation, subject = self._prepared.a, self._prepared.a_subject
        sys.setprofile(self._points)
        try:
            try:
                result = operation.run(subject)
            finally:
                sys.setprofile(None)
            self._outcome = canonical.returned(result)
        except BaseException as error:
            self._outcome = canonical.raised(error)

    def _at(self, name: str, frame: FrameType) -> None:
        """A is at a point."""
        self._count += 1
        if self._course.points:
            off = self._reader.off(self._reader.read())
            self._say({"is": "point", "name": name, "off": off, "locked": self._locked()})
        if self._pending is None and (self._course.stops is None or name in self._course.stops):
            self._stopped = True
            try:
                self._stop(name, frame)
            finally:
                self._stopped = False

    def _stop(self, name: str, frame: FrameType) -> None:
        """B runs while A stands here."""
        self._used += 1
        self._say({"is": "at", "name": name})
        reader, course = self._reader, self._course
        before = reader.read()
        self._healing.begin()
        job = self._b.begin(until=course.b_until)
        ended = self._b.wait(job)
        self._healing.end(before)
        if ended is Wait.ENDED:
            self._after(name, frame, before, job)
            return
        self._pending = (job, name)
        said = {"name": name, "off": reader.off(before), "locked": self._locked()}
        if ended is Wait.BLOCKED:
            self._points.each = self._pending_event
            self._say({"is": "blocked", "lock": self._waits_for(), **said})
        else:  # it stands at a point of its own until A has ended
            both = reader.off(reader.read())
            self._say({"is": "inside", **said, "off": both, **self._values(both, before)})
        if course.detail:
            self._say({"is": "stacks", **self._stacks(frame)})

    def _after(self, name: str, frame: FrameType, before: Reading, job: Job) -> None:
        reader, outcome = self._reader, job.outcome
        left = reader.changed(before, reader.read())
        wrong = self._wrong(outcome)
        if wrong or left or self._course.detail:
            said: dict[str, Any] = {"is": "stop", "name": name, "off": reader.off(before)}
            if wrong or self._course.detail:
                said["b"] = outcome
            said["left"], said["locked"] = left, self._locked()
            if self._course.detail:
                names = (*said["off"], *(one for one in left if one not in said["off"]))
                said.update(self._values(names, before), **self._stacks(frame))
            self._say(said)
        if wrong:
            self._b.next_subject()
        if left and self._course.mend:
            reader.put(left, before)

    def _wrong(self, outcome: Outcome) -> bool:
        allowed = self._course.allowed
        return all(canonical.outcomes_differ(outcome, one) is not None for one in allowed)

    def _values(self, names: tuple[str, ...], before: Reading) -> dict[str, Any]:
        """What these States were before A began, when B began, and are now."""
        told = self._reader.told
        return {
            "before": told(names, self._reader.baseline),
            "during": told(names, before),
            "after": told(names, self._reader.read()),
        }

    def _stacks(self, frame: FrameType) -> dict[str, Any]:
        return {"frames": stack_of(frame), "b_frames": self._b.frames()}

    def _pending_event(self) -> None:
        """Any event of A while B waits: is the lock given up, or has B ended?"""
        pending = self._pending
        if pending is None or self._stopped:
            return
        job, name = pending
        if self._locked() and not job.done():
            return
        if self._lock is None and not job.done():
            return
        self._points.each, self._stopped = None, True
        try:
            if self._b.wait(job) is Wait.BLOCKED:
                return  # for another lock: it will be waited for when A has ended
            self._pending = None
            self._blocked_ended(job, name)
        finally:
            self._stopped = False

    def _blocked_ended(self, job: Job, name: str) -> None:
        wrong = self._wrong(job.outcome)
        self._say({"is": "unblocked", "name": name, "wrong": wrong, "b": job.outcome})

    def _settle_pending(self) -> bool:
        """B is let go on, or waited for, after A has ended. False when it hangs."""
        assert self._pending is not None
        job, name = self._pending
        left = self._healing.resume() if self._course.b_until else None
        job.go_on()
        if not self._b.wait_long(job):
            self._say({"is": "hung", "who": "b", "b_frames": self._b.frames(), "frames": []})
            return False
        if left is not None:
            self._reader.put(self._course.heal, left)
        self._pending = None
        self._blocked_ended(job, name)
        return True

    def _serial(self, role: str) -> None:
        """B alone, before or after A."""
        job = self._b.begin()
        if self._b.wait_long(job):
            self._say({"is": role, "b": job.outcome})
        else:
            self._say({"is": "hung", "who": role, "b_frames": self._b.frames(), "frames": []})

    def _until_a_ended(self, thread: threading.Thread) -> bool:
        """False when A hangs; the stacks are said then. A stop has bounds of its own."""
        if stands(thread, lambda: self._stopped):
            frame = frame_of(thread.ident or 0)
            frames = [] if frame is None else stack_of(frame)
            b_frames = self._b.frames()
            self._say({"is": "hung", "who": "a", "frames": frames, "b_frames": b_frames})
            return False
        return True

    def _locked(self) -> bool:
        """True when A, which must be the caller, holds Dynamo's lock."""
        return self._lock is not None and bool(self._lock._is_owned())

    def _waits_for(self) -> str:
        return "torch._dynamo.compile_lock" if self._locked() else "a lock that cannot be seen"


def _compile_lock() -> Any:
    try:
        import torch._dynamo.convert_frame as convert
    except ImportError:
        return None
    lock = getattr(convert, "compile_lock", None)
    return lock if hasattr(lock, "_is_owned") else None


Body = Callable[[Say], None]


def body(prepared: Prepared, course: Course) -> Body:
    """What a fork does for this course."""
    return lambda say: Run(prepared, course, say).go()
