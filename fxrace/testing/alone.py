"""Plays a program under one schedule and says what came out unlike running alone.

Everything runs in forks of this process, which stays as it was. A program that does not end the
same way in either serial order has no reference, and nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fxrace.probe.explore import thread_programs
from fxrace.probe.explore.cause import Cause, cause_of
from fxrace.probe.explore.choices import Chooser, InOrder
from fxrace.probe.explore.explorer import Budget, Exploration, explore, stopped_everywhere
from fxrace.probe.explore.played import Ended, Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import exploring
from fxrace.probe.explore.thread_programs import ThreadProgram, alike
from fxrace.probe.explore.unexplored import quiet
from fxrace.probe.explore.workers import Workers

#: At a coarser one most operations can be stopped nowhere but at their beginning.
GRAIN = "call"
_KEPT = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """``cause`` is None where nothing differed; ``why_not`` is why nothing could be compared."""

    cause: Cause | None
    played: Played | None = None
    why_not: str = ""


@dataclass
class Bench:
    """Where programs are played. Use ``bench()``; remembers the references of the last programs."""

    workers: Workers
    _known: dict[ThreadProgram, tuple[Program, tuple[Ended, ...], str]] = field(
        default_factory=dict
    )

    def compare(self, made: ThreadProgram, chooser: Chooser) -> Compared:
        """One schedule against running serially."""
        program, alone, why_not = self.reference(made)
        if why_not:
            return Compared(cause=None, why_not=why_not)
        played = self.workers.play(program, chooser)
        return Compared(cause=cause_of(played, alone, alike), played=played)

    def explore(self, made: ThreadProgram, budget: Budget) -> tuple[Exploration | None, str]:
        """Many schedules by the explorer's own strategies; None where there is no reference."""
        program, _, why_not = self.reference(made)
        if why_not:
            return None, why_not
        return explore(program, self.workers.play, budget=budget, same=alike), ""

    def reference(self, made: ThreadProgram) -> tuple[Program, tuple[Ended, ...], str]:
        """The program with its points, how its threads end alone, and why that is no reference."""
        if made not in self._known:
            if len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            program = thread_programs.program_of(made)
            self.workers.import_for(program)
            self._known[made] = self._alone(program)
        return self._known[made]

    def _alone(self, program: Program) -> tuple[Program, tuple[Ended, ...], str]:
        order = tuple(range(len(program.names)))
        first = self.workers.play(program, InOrder(order))
        program = stopped_everywhere(program, first)
        runs = [first, *(self.workers.play(program, InOrder(one)) for one in (order, order[::-1]))]
        return program, first.ended, _why_not(runs)


def _why_not(runs: Sequence[Played]) -> str:
    for run in runs:
        odd = next((one for one in run.ended if not one.returned), None)
        if odd is not None:
            return f"{odd.thread} alone: {(odd.error or {}).get('type', 'no end')}"
        if run.deviations:
            return f"alone it leaves {run.deviations[0].state} changed"
        pairs = zip(run.ended, runs[0].ended, strict=True)
        if not all(alike(a.result, b.result) for a, b in pairs):
            return "alone it does not end the same way twice"
    return ""


@contextmanager
def bench(grain: str = GRAIN) -> Iterator[Bench]:
    """Hooks on for the length of the block. Imports torch; the process must be able to fork."""
    quiet()
    with exploring(grain) as stage, Workers(stage) as workers:
        yield Bench(workers)


def differs(made: ThreadProgram, chooser: Chooser) -> Cause | None:
    """What differs from running serially; None where nothing does or nothing can be said."""
    with bench() as one:
        return one.compare(made, chooser).cause
