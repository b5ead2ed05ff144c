"""Puts one trial process into its own cell: session, signals, streams, last words.

Used twice, so that forked and fresh trials obey the same rules: the zygote calls ``confine``
in every fork, and a fresh interpreter that the zygote then starts runs this module to arm its
stacks (signal handlers do not survive an exec). The surprise: the parent-death signal follows
the parent *thread*, so only the zygote's one thread may fork.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
from pathlib import Path

STACKS = "stacks.txt"
STDOUT = "stdout.txt"
STDERR = "stderr.txt"

# Not SIGUSR1: the LLVM inside Triton takes that one over (and SIGTERM, and the fatal ones) at
# the first GPU compile, without passing it on.
STACKS_SIGNAL = int(getattr(signal, "SIGRTMIN", signal.SIGUSR1)) + (
    5 if hasattr(signal, "SIGRTMIN") else 0
)

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_PTRACER = 0x59616D61
_PR_SET_PTRACER_ANY = -1

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that it can end them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed when ``parent`` ends; leave at once if it already has."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def confine(directory: Path, parent: int) -> None:
    """Enter an own session, die with ``parent``, and write streams into ``directory``.

    Any process of this user may then read the stacks (Yama's ptrace_scope 1 would refuse a
    reader that is no ancestor).
    """
    os.setsid()
    die_with(parent)
    _prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(STACKS_SIGNAL, signal.SIG_IGN)
    _redirect(0, os.open(os.devnull, os.O_RDONLY))
    for descriptor, name in ((1, STDOUT), (2, STDERR)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        _redirect(descriptor, os.open(directory / name, flags, 0o644))


def arm_stacks(directory: Path) -> None:
    """Write all threads' stacks to ``stacks.txt`` on STACKS_SIGNAL and on a fatal signal.

    Works while every thread is blocked: the handler runs in C and needs no interpreter lock.
    """
    words = os.open(directory / STACKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    faulthandler.enable(file=words, all_threads=True)
    faulthandler.register(STACKS_SIGNAL, file=words, all_threads=True, chain=False)


def _redirect(descriptor: int, source: int) -> None:
    os.dup2(source, descriptor, inheritable=True)
    os.close(source)


def _prctl(option: int, value: int) -> None:
    """Best effort: kernels without the option refuse it, and then the other rules still hold."""
    if _libc is not None:
        _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    from fxrace.probe.child import run_trial

    arm_stacks(Path(sys.argv[1]))
    run_trial(Path(sys.argv[1]))
