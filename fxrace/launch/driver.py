"""Is there a GPU driver, and what that means for starting processes that need no GPU."""

from __future__ import annotations

from pathlib import Path

from fxrace.launch.progress import Mode


def driver_present() -> bool:
    """A GPU driver has left its device file (CUDA, ROCm, WSL): worth asking torch about GPUs."""
    return any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))


def fork_or_spawn() -> Mode:
    """How to start trials on the CPU.

    Where a driver is, importing torch's compilers starts threads, which no fork survives.
    """
    return Mode.SPAWN if driver_present() else Mode.FORK
