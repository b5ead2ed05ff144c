"""Reads the processor time of a trial: its whole session, with children already reaped."""

from __future__ import annotations

import os

import psutil


def processor_time(leader: int) -> tuple[float, bool]:
    """(seconds used by every process of ``leader``'s session, leader waits for a disk).

    A process that ends during the reading counts as nothing.
    """
    total, on_disk = 0.0, False
    for pid in psutil.pids():
        try:
            if os.getsid(pid) != leader:
                continue
            process = psutil.Process(pid)
            times = process.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            if pid == leader:
                on_disk = process.status() == psutil.STATUS_DISK_SLEEP
        except (OSError, psutil.Error):
            continue
    return total, on_disk
