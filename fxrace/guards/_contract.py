"""What a guard is: one remedy for one kind of race, installable and removable.

Every public file of this folder holds one ``guard = Guard(...)``; the file's name is the guard's
and its docstring is its help. The surprise: a guard whose torch has the fix already is not an
error. It says so by ``Unneeded`` and is installed as nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from fxrace.errors import FxraceError, UsageError

Detach = Callable[[], None]


class GuardRefused(UsageError):
    """This guard cannot work here, so it is not installed: the text says what stands in the way."""


class GuardTimeout(FxraceError):
    """A thread waited for another's trace or compile for too long; the text names both."""


class Unneeded(Exception):
    """This torch has the fix, or lacks the fault. The text is the reason; nothing is installed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guard:
    """One remedy.

    ``cures`` are hazard slugs; ``cannot_cure`` are sentences a user must read before relying on
    it. ``since`` is the first torch that has the fault, ``until`` the first that is without it.
    ``attach(**options) -> detach`` patches torch; it raises Unneeded or GuardRefused. ``detach``
    may be called from any thread, also while others trace: what a running trace still needs goes
    when that trace ends. ``keeps`` are the States (names of registry rows) of which each thread
    has its own while the guard is on, so that no two threads can race on them.
    """

    cures: tuple[str, ...]
    cannot_cure: tuple[str, ...]
    attach: Callable[..., Detach]
    since: str | None = None
    until: str | None = None
    keeps: tuple[str, ...] = ()


def in_reverse(detaches: list[Detach]) -> Detach:
    """One detach that undoes the last first, and the rest even where one of them fails."""

    def detach() -> None:
        errors = []
        while detaches:
            try:
                detaches.pop()()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    return detach


def attach_all(*steps: Callable[[], Detach]) -> Detach:
    """Take every step, or none: an error undoes the steps before it."""
    done: list[Detach] = []
    try:
        for step in steps:
            done.append(step())
    except BaseException:
        in_reverse(done)()
        raise
    return in_reverse(done)


def counted(attach: Callable[[], Detach]) -> Callable[[], Detach]:
    """One attachment for all guards that have it in them: the last to go takes it off."""
    lock = threading.Lock()
    wanted = 0
    detach: Detach | None = None

    def release() -> None:
        nonlocal wanted, detach
        with lock:
            wanted -= 1
            if not wanted and detach is not None:
                done, detach = detach, None
                done()

    @wraps(attach)
    def join() -> Detach:
        nonlocal wanted, detach
        with lock:
            if not wanted:
                detach = attach()
            wanted += 1
        return release

    return join


def version() -> tuple[int, int]:
    """Major and minor number of the torch that is imported."""
    import torch

    major, minor = str(torch.__version__).split(".")[:2]
    return int(major), int(minor)
