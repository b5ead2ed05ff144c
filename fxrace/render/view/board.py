"""The state of a running sweep: which cells are done, how, and how long the rest will take.

Pure bookkeeping under both progress displays. The surprise: time left is estimated from the
trials of this run only, because stored ones took no time at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fxrace.records.outcome import Outcome
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.render.view import grid, words

WINDOW = 40


@dataclass(kw_only=True, slots=True)
class CellState:
    """One cell while it fills: counts by verdict name, trials running, trials planned."""

    knobs: Mapping[str, str]
    planned: int = 0
    running: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(self.verdicts.values())

    @property
    def failed(self) -> int:
        return sum(n for v, n in self.verdicts.items() if Verdict(v).failed)

    @property
    def complete(self) -> bool:
        return self.done >= self.planned


class Board:
    """Fed by a progress display; ``now`` is any monotonic clock in seconds."""

    def __init__(self) -> None:
        self.cells: dict[grid.Key, CellState] = {}
        self.references: dict[str, int] = {}
        self.totals: dict[str, int] = {}
        self.known = self.planned_trials = self.run = 0
        self.note = ""
        self._ends: list[float] = []

    def planned(self, trials: Sequence[Trial], known: Mapping[str, Outcome], now: float) -> None:
        """Take in the plan; outcomes that are stored already fill their cells at once."""
        self.planned_trials, self._ends = len(trials), [now]
        for trial in trials:
            if not grid.reference(trial.knobs):
                cell = self.cells.setdefault(grid.key(trial.knobs), CellState(knobs=trial.knobs))
                cell.planned += 1
        for trial in trials:
            if trial.digest in known:
                self.known += 1
                self._count(trial, known[trial.digest])

    def started(self, trial: Trial) -> None:
        cell = self.cells.get(grid.key(trial.knobs))
        if cell is not None:
            cell.running += 1

    def ended(self, trial: Trial, outcome: Outcome, now: float) -> CellState | None:
        """Count it; returns its cell, None for a reference."""
        self.run += 1
        self._ends = [*self._ends, now][-WINDOW:]
        cell = self._count(trial, outcome)
        if cell is not None:
            cell.running = max(0, cell.running - 1)
        return cell

    @property
    def done(self) -> int:
        return self.known + self.run

    def rate(self, now: float) -> float | None:
        """Trials per second over the last few, None before the first has ended."""
        if len(self._ends) < 2:
            return None
        return (len(self._ends) - 1) / max(1e-6, now - self._ends[0])

    def left_s(self, now: float) -> float | None:
        """Seconds until the plan is done at the present rate."""
        rate = self.rate(now)
        return None if rate is None else (self.planned_trials - self.done) / rate

    def _count(self, trial: Trial, outcome: Outcome) -> CellState | None:
        name = outcome.verdict.value
        if grid.reference(trial.knobs):
            self.references[name] = self.references.get(name, 0) + 1
            return None
        self.totals[name] = self.totals.get(name, 0) + 1
        cell = self.cells.get(grid.key(trial.knobs))
        if cell is not None:
            cell.verdicts[name] = cell.verdicts.get(name, 0) + 1
        return cell


def summary(board: Board, now: float) -> str:
    """``41 of 108 trials, 12 stored, 1.3 trials/s, 50 s left``."""
    parts = [f"{board.done} of {words.count(board.planned_trials, 'trial')}"]
    if board.known:
        parts.append(f"{board.known} stored")
    rate, left = board.rate(now), board.left_s(now)
    if rate is not None and left is not None and board.done < board.planned_trials:
        parts += [f"{words.figure(rate)} trials/s", f"{words.seconds(left)} left"]
    return ", ".join(parts)
