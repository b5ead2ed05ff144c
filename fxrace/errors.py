"""Every exception fxrace raises on purpose, and every exit code it ends with.

One class per situation. A message says what happened and where; ``remedy`` says what to do
next. The command line prints both on one line and exits with ``exit_code``; anything that is
not an ``FxraceError`` is a defect of fxrace itself and ends with ``ExitCode.INTERNAL``.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell sees. Scripts depend on these numbers: add, never renumber."""

    PASS = 0
    FINDINGS = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL = 4
    RACE_IN_PASSING_PROGRAM = 66
    TIME_BUDGET = 124
    INTERRUPTED = 130


class FxraceError(Exception):
    """Base of all expected failures: a sentence for the user and an exit code."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class UsageError(FxraceError):
    """The command cannot mean anything: an unknown value, an impossible count, a bad path."""

    exit_code = ExitCode.USAGE


class UnknownPart(UsageError):
    """An axis or an axis value that no folder holds. Usual cause: a typing error."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown {kind} {name!r}", remedy=f"known: {', '.join(known) or 'none'}")


class OutputUnwritable(UsageError):
    """The output folder cannot be written: read-only, a file in its place, or a full disk."""


class InterpreterUnusable(UsageError):
    """The interpreter meant to run trials is missing, cannot start, or has no torch."""


class DeviceUnavailable(UsageError):
    """``--device cuda`` was asked for and the interpreter's torch sees no GPU."""


class StoreTooNew(UsageError):
    """The database was written by a newer fxrace; reading it could lose what it holds."""


class StoreUnreadable(UsageError):
    """The file is no fxrace database, or is damaged beyond SQLite's own recovery."""


class CodeChanged(UsageError):
    """The code under test was edited while trials ran; what they measured has no one name."""


class NothingToShow(UsageError):
    """A report or replay was asked for something the database does not hold."""


class LaunchFailed(FxraceError):
    """The process that starts trials died; the machine, not the program, is at fault."""


class NoSuchProcess(UsageError):
    """``fxrace dump`` was given the PID of a process that is not there (any more)."""


class NotPython(UsageError):
    """``fxrace dump`` was given the PID of a process that runs no Python."""


class StacksRefused(FxraceError):
    """The process is there, but its stacks cannot be read: nothing can be said about it."""

    exit_code = ExitCode.INCONCLUSIVE
