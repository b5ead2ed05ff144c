"""Where trials run: the interpreter, its device, the slots on it. Shared by sweep and replay.

The surprise: whether there is a GPU is known only after the interpreter under test has said so,
and CUDA trials start another way: no fork survives CUDA. ``auto`` asks only where a driver is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fxrace.errors import DeviceUnavailable
from fxrace.launch.driver import driver_present, fork_or_spawn
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Mode
from fxrace.records.environment import Environment

AUTO, CPU, CUDA = "auto", "cpu", "cuda"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An executor that is open, what its interpreter is, and the device type to use."""

    executor: LocalExecutor
    environment: Environment
    device: str

    @property
    def physical(self) -> tuple[str, ...]:
        """The devices slots are dealt over, as torch device strings."""
        if self.device == CPU:
            return (CPU,)
        return tuple(f"{CUDA}:{index}" for index in range(len(self.environment.gpus)))


@contextmanager
def opened(
    *,
    python: str,
    directory: Path,
    jobs: int | None,
    roots: Sequence[Path],
    device: str,
    jobs_on_gpus: int = 1,
) -> Iterator[Place]:
    """Start the interpreter and settle the device. Raises DeviceUnavailable.

    ``jobs`` None means one trial per processor on the CPU and ``jobs_on_gpus`` on GPUs, where
    trials share the devices they are timed on.
    """

    def executor(mode: Mode, many: int) -> LocalExecutor:
        return LocalExecutor(python=python, directory=directory, jobs=many, roots=roots, mode=mode)

    if device == CUDA or (device == AUTO and driver_present()):
        with executor(Mode.SPAWN, jobs or jobs_on_gpus) as open_one:
            environment = open_one.describe()
            if environment.gpus:
                yield Place(executor=open_one, environment=environment, device=CUDA)
                return
        if device == CUDA:
            raise DeviceUnavailable(
                f"--device cuda: torch {environment.torch} of {environment.executable} sees no GPU",
                remedy="use --device cpu, or --python with a CUDA build of torch",
            )
    with executor(fork_or_spawn(), jobs or processors()) as open_one:
        yield Place(executor=open_one, environment=open_one.describe(), device=CPU)


def processors() -> int:
    """Processors this process may use; containers often allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
