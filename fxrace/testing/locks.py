"""Locks of the tested program that say who waits for whom, so that no schedule has to guess.

A thread that waits for a lock which a stopped thread holds looks like one that computes; the
scheduler would find out by waiting, and when depends on the machine. So ``threading.Lock`` and
``RLock`` called by files below the root of the tests give locks with a gate before them. The
surprise: nobody else gets one, neither torch nor the standard library (so that a ``Condition`` or
a ``Queue`` has none), and outside a schedule it is the lock it wraps.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fxrace.probe.explore.current import Current
from fxrace.probe.explore.gates import Gate

_FOREIGN = ("site-packages", "dist-packages")
_USUAL: dict[str, Callable[[], Any]] = {"Lock": threading.Lock, "RLock": threading.RLock}
#: Every stage of this process plays with this one: locks live longer than stages.
CURRENT = Current()


def give(root: Path) -> None:
    """From now on files below ``root`` make such locks."""
    for name, usual in _USUAL.items():
        setattr(threading, name, _maker(usual, str(root.resolve())))


def take_back() -> None:
    """As Python has it."""
    for name, usual in _USUAL.items():
        setattr(threading, name, usual)


def _maker(usual: Callable[[], Any], root: str) -> Callable[[], Any]:
    def make() -> Any:
        caller = sys._getframe(1)
        file = caller.f_code.co_filename
        if not file.startswith(root) or any(mark in file for mark in _FOREIGN):
            return usual()
        return Gate(usual(), f"{Path(file).name}:{caller.f_lineno}", CURRENT)

    return make
