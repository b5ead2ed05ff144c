"""Starts the trial's threads, and keeps what every one of them failed with.

The first error hides no other: the thread that dies first is often not the one at fault. Each
failure is recorded the moment it reaches its thread's top, together with the stacks of the
other threads that stood in a trace or compile just then. Nothing here ends a hang: the parent
process judges that from outside, where the evidence can still be taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from fxrace.probe.failure import described
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import open_regions
from harness.channel import Stopped

LOOK_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """What one role ended with."""

    role: str
    error: BaseException


class Failures:
    """Every failure of the trial, recorded as ``raised``; one exception object only once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._mutex = threading.Lock()
        self._kept: list[Failure] = []

    def record(self, role: str, error: BaseException) -> bool:
        """Record it unless this very exception came through another thread before."""
        others = open_regions()
        with self._mutex:
            if any(kept.error is error for kept in self._kept):
                return False
            self._kept.append(Failure(role=role, error=error))
        self._recorder.emit("raised", role=role, error=described(error), others=others)
        return True

    def ended(self, role: str, how: str) -> None:
        """Record that this role is through: ``done``, ``stopped`` or ``raised``."""
        self._recorder.emit("ended", role=role, how=how)

    @property
    def all(self) -> tuple[Failure, ...]:
        """In the order in which they were recorded."""
        with self._mutex:
            return tuple(self._kept)


class Crew:
    """The threads of one trial. They are daemons: a hung one must not keep the process."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._threads: list[threading.Thread] = []

    def start(
        self,
        name: str,
        work: Callable[[], None],
        *,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """Run ``work`` on a new thread of this name.

        Whatever it raises is recorded first, then given to ``on_failure`` (which releases those
        who wait for this thread). ``Stopped`` is not a failure. How it ended is on record last.
        """

        def body() -> None:
            how = "done"
            try:
                work()
            except Stopped:
                how = "stopped"
            except BaseException as error:
                how = "raised"
                self._failures.record(name, error)
                on_failure(error)
            finally:
                self._failures.ended(name, how)

        thread = threading.Thread(target=body, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, bound_s: float) -> tuple[str, ...]:
        """Wait for all threads, at most this long; the names of those still running."""
        deadline = time.monotonic() + bound_s
        for thread in self._threads:
            while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
                thread.join(min(left, LOOK_S))
        return tuple(t.name for t in self._threads if t.is_alive())


class StartLine:
    """Where drafters wait, warm or failed, until all have arrived and main opens the line."""

    def __init__(self, runners: int) -> None:
        self._changed = threading.Condition()
        self._missing, self._open = runners, False

    def arrive(self) -> None:
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()

    def await_all(self, bound_s: float) -> bool:
        """True when every runner has arrived; False when the bound passed first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._missing <= 0, bound_s)

    def open(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def await_open(self, bound_s: float) -> bool:
        """True when the line is open; False when the bound passed first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._open, bound_s)
