"""Remedies for races between threads that trace and compile, in one line of a program.

    from fxrace import guards
    guards.install("one_owner")             # for the rest of the process
    with guards.install("isolated"): ...    # or for a block

Each public file here is one guard; its docstring is its help, and ``guards.available()`` lists
them. Importing this package imports no torch: the first ``install`` does. The surprise: a guard
this torch does not need is installed as nothing, and the handle's ``reasons`` says so.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

from fxrace.guards._contract import Guard, GuardRefused, GuardTimeout, Unneeded
from fxrace.guards._registry import Handle, available, installed, load

#: Names, separated by commas, of the guards that ``fxrace run`` installs in the program.
VARIABLE = "FXRACE_GUARD"


def install(*names: str, **options: Any) -> Handle:
    """Install one or several guards. ``options`` go to each (see the guard's ``attach``).

    Installing twice is counted. Raises UnknownPart, or GuardRefused where one cannot work; then
    none of these is left installed.
    """
    return Handle(names, options)


def remove(handle: Handle) -> None:
    """The same as ``handle.remove()``."""
    handle.remove()


def named_in_environment() -> tuple[str, ...]:
    """The guards that ``FXRACE_GUARD`` asks for."""
    words = os.environ.get(VARIABLE, "").split(",")
    return tuple(word.strip() for word in words if word.strip())


def running() -> AbstractContextManager[None]:
    """``with guards.running():`` a call that must not meet a trace (guard ``readers_writer``)."""
    from fxrace.guards.readers_writer import gate

    return gate.reading()


def tracing() -> AbstractContextManager[None]:
    """``with guards.tracing():`` something that traces by a way torch does not show."""
    from fxrace.guards.readers_writer import gate

    return gate.writing()


__all__ = [
    "Guard",
    "GuardRefused",
    "GuardTimeout",
    "Handle",
    "Unneeded",
    "available",
    "install",
    "installed",
    "load",
    "named_in_environment",
    "remove",
    "running",
    "tracing",
]
