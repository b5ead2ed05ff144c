"""One trial in the air: from its folder to its Ending, told what happens, asking for signals.

It starts nothing and waits for nothing; the executor feeds it messages and looks. That keeps
the rules (when is it stuck, which signal comes next, what counts as its own end) the same for
forked and fresh processes and for any executor.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

from fxrace.launch import stacks
from fxrace.launch.folder import TrialFolder
from fxrace.launch.processor import processor_time
from fxrace.launch.watch import Reading, Watch
from fxrace.probe.confine import STACKS_SIGNAL
from fxrace.records.outcome import Ending, Stop
from fxrace.records.trial import Trial

TERM_GRACE_S = 0.3
KILL_PATIENCE_S = 15.0

Send = Callable[[int], None]


class Flight:
    """``send`` delivers a signal to the trial: STACKS_SIGNAL to its process, others to its group.

    Times are monotonic seconds; ``requested`` is when work on the trial began.
    """

    def __init__(
        self, trial: Trial, folder: TrialFolder, *, requested: float, send: Send, gil: bool
    ) -> None:
        self.trial, self.folder = trial, folder
        self._requested, self._send, self._gil = requested, send, gil
        self._pid = 0
        self._began = requested
        self._watch = Watch(trial.limits, requested)
        self._sampled = requested
        self._cpu = (0.0, False)
        self._stop: Stop | None = None
        self._termed: float | None = None
        self._killed: float | None = None
        self._stacks = stacks.Stacks()

    def started(self, pid: int, at: float) -> None:
        """The process exists; its clocks run from here."""
        self._pid, self._began = pid, at
        self._watch = Watch(self.trial.limits, at)

    def look(self, now: Callable[[], float]) -> None:
        """Judge the trial; when it is stuck, take its stacks and begin to end it."""
        if not self._pid:
            return
        if self._stop is not None:
            self._press_on(now())
            return
        at = now()
        if at - self._sampled >= self._pace:
            self._sampled, self._cpu = at, processor_time(self._pid)
        reading = Reading(written=self.folder.written(), cpu_s=self._cpu[0], on_disk=self._cpu[1])
        stop = self._watch.look(at, reading)
        if stop is None:
            return
        self._stop = stop
        ask = partial(self._send, STACKS_SIGNAL)
        self._stacks = stacks.take(self.folder, self._pid, ask, gil=self._gil)
        self._termed = now()
        self._send(signal.SIGTERM)

    def interrupt(self, now: float) -> None:
        """The user wants no more of it: kill at once, no questions asked."""
        if self._killed is None:
            self._stop = self._stop or Stop.INTERRUPTED
            self._termed = self._termed or now
            self._killed = now
            self._send(signal.SIGKILL)

    def immortal(self, now: float) -> bool:
        """True when SIGKILL was sent long ago and nothing came of it (stuck in the kernel)."""
        return self._killed is not None and now - self._killed > KILL_PATIENCE_S

    def ended(self, message: dict[str, Any], now: Callable[[], float]) -> Ending:
        """The Ending, from the zygote's ``ended`` message."""
        code = message["status"] if message["signal"] is None else message["signal"]
        own = self._termed is None or message["at"] < self._termed
        if not own and self._stop is not None:
            return self._ending(self._stop, code, message["at"], now)
        if message["signal"] is None:
            return self._ending(Stop.EXITED, code, message["at"], now)
        if not self._stacks.threads:
            self._stacks = stacks.Stacks(threads=stacks.written(self.folder))
        return self._ending(Stop.SIGNALLED, code, message["at"], now)

    def refused(self, reason: str, now: Callable[[], float]) -> Ending:
        """The Ending of a trial that never had a process."""
        self._stacks = stacks.Stacks(blind=(("start", reason),))
        return self._ending(Stop.NOT_STARTED, None, self._began, now)

    def given_up(self, now: Callable[[], float]) -> Ending:
        """The Ending of a process that outlives SIGKILL; it may still hold its device."""
        blind = (("exit", f"process {self._pid} does not die; the kernel holds it"),)
        self._stacks = stacks.Stacks(threads=self._stacks.threads, blind=self._stacks.blind + blind)
        return self._ending(self._stop or Stop.INTERRUPTED, None, now(), now)

    @property
    def _pace(self) -> float:
        """Seconds between two readings of processor time, fine enough for the silence limit."""
        return max(0.1, min(1.0, self.trial.limits.silence_s / 10))

    def _press_on(self, now: float) -> None:
        grace_over = self._termed is not None and now - self._termed >= TERM_GRACE_S
        if grace_over and self._killed is None:
            self._killed = now
            self._send(signal.SIGKILL)

    def _ending(self, stop: Stop, code: int | None, at: float, now: Callable[[], float]) -> Ending:
        self.folder.drop_cache()
        duration = max(0.0, at - self._began)
        return Ending(
            stop=stop,
            code=code,
            duration_s=duration,
            overhead_s=max(0.0, now() - self._requested - duration),
            stacks=self._stacks.threads,
            stderr_tail=self.folder.stderr_tail(),
            blind=self._stacks.blind,
        )
