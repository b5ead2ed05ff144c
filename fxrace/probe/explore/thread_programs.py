"""Small programs of several threads, put together from operations: what a random search builds.

A thread runs its operations one after the other, each on a subject of its own that was prepared
before any thread started, and returns all results. The surprise: ``smaller`` is all that making
one smaller takes, because any part of such a program is such a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fxrace.probe.explore import canonical
from fxrace.probe.explore.program import Body, Program
from fxrace.probe.operations import Operation, load

LETTERS = "ABCDEFGH"


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadProgram:
    """The names of the operations of each thread, in order."""

    threads: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return " | ".join(" ".join(names) for names in self.threads)

    @property
    def smaller(self) -> tuple[ThreadProgram, ...]:
        """The same without one operation; a thread is never left without any."""
        every = self.threads
        return tuple(
            ThreadProgram(threads=(*every[:n], (*ops[:k], *ops[k + 1 :]), *every[n + 1 :]))
            for n, ops in enumerate(self.threads)
            for k in range(len(ops))
            if len(ops) > 1
        )  # fmt: skip


def program_of(made: ThreadProgram) -> Program:
    """What is scheduled. Raises LookupError where there is no such operation."""
    operations = [[load(name) for name in names] for names in made.threads]

    def prepare() -> Sequence[Body]:
        return [_body(each) for each in operations]

    return Program(
        prepare=prepare,
        names=tuple(LETTERS[: len(operations)]),
        condense=canonical.canonical,
        name=str(made),
    )


def alike(one: Any, other: Any) -> bool:
    """True where two condensed results could not be told apart by a program."""
    return next(canonical.differences(one, other), None) is None


def _body(operations: Sequence[Operation]) -> Body:
    subjects = [operation.prepare() for operation in operations]

    def run() -> list[Any]:
        return [each.run(subject) for each, subject in zip(operations, subjects, strict=True)]

    return run
