"""What the kernel tells about the threads of a process: processor time, and where each one waits.

Linux only; elsewhere every answer is empty, and what py-spy says has to do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
_LOCK_CHANNELS = ("futex", "ep_poll_futex")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """One thread. ``channel`` is the kernel function it waits in, "" where that is not told."""

    cpu_s: float
    channel: str

    @property
    def may_wait_for_lock(self) -> bool:
        """Python's locks are futexes; a thread that sleeps elsewhere waits for no lock."""
        return not self.channel or self.channel.startswith(_LOCK_CHANNELS)


def kernel_view(pid: int) -> dict[int, Kernel]:
    """Kernel thread id -> what is known; threads that end meanwhile are left out."""
    found: dict[int, Kernel] = {}
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for task in tasks:
        try:
            # The name in parentheses may hold anything, spaces and parentheses included.
            fields = (task / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        cpu_s = (int(fields[11]) + int(fields[12])) * TICK_S
        found[int(task.name)] = Kernel(cpu_s=cpu_s, channel=_channel(task))
    return found


def _channel(task: Path) -> str:
    try:
        told = (task / "wchan").read_text().strip()
    except OSError:
        return ""
    return "" if told == "0" else told


def record_of(pid: int) -> Path | None:
    """The ``events.jsonl`` that a process started by fxrace holds open, or None."""
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = descriptor.readlink()
            if target.name == "events.jsonl" and target.is_file():
                return target
    except OSError:
        return None
    return None
