"""Decides when a running trial counts as stuck. Pure: times and readings in, a Stop out.

Silence alone is not a hang, because compiling may take minutes; silence without processor time
is. A late look is no evidence either: readings are compared before clocks, so a parent that
was busy for a minute does not blame the trial.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.records.outcome import Stop
from fxrace.records.trial import Limits

# Threads that wait for the interpreter lock look for it every 5 ms: 3 % of a processor, measured
# on a process that stood still. A compile uses all of one.
IDLE_SHARE = 0.15
IDLE_GRACE_S = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One look at a trial: bytes recorded, processor seconds of all its processes, and whether
    it waits for a disk (imports from a cold or remote one use no processor time).
    """

    written: int
    cpu_s: float
    on_disk: bool = False


class Watch:
    """The clocks of one trial. Times are monotonic seconds."""

    def __init__(self, limits: Limits, began: float) -> None:
        self._limits = limits
        self._began = self._heard = self._active = began
        self._written = 0
        self._cpu_s, self._cpu_at = 0.0, began

    def look(self, now: float, reading: Reading) -> Stop | None:
        """SILENT or TIMED_OUT when a limit has passed, else None."""
        if reading.written != self._written:
            self._written = reading.written
            self._heard = self._active = now
        if reading.on_disk or self._worked(now, reading.cpu_s):
            self._active = now
        if now - self._active >= self._limits.silence_s:
            return Stop.SILENT
        if now - self._heard >= self._limits.busy_s:
            return Stop.SILENT
        if now - self._began >= self._limits.trial_s:
            return Stop.TIMED_OUT
        return None

    def _worked(self, now: float, cpu_s: float) -> bool:
        """True when processor time since the last mark is more than a polling wait uses."""
        if cpu_s < self._cpu_s:  # a process of the group ended and took its account along
            self._cpu_s = cpu_s
        worked = cpu_s - self._cpu_s > IDLE_SHARE * (now - self._cpu_at) + IDLE_GRACE_S
        if worked:
            self._cpu_s, self._cpu_at = cpu_s, now
        return worked
