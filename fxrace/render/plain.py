"""Progress for logs: one line per finished cell, and a sign of life in between.

No colours, no cursor movement, nothing that changes what was written: CI logs and pipes keep
every byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TextIO

from fxrace.records.outcome import Outcome
from fxrace.records.trial import Trial
from fxrace.render.view import grid, words
from fxrace.render.view.answer import named
from fxrace.render.view.board import Board, CellState, summary

SIGN_OF_LIFE_S = 15.0


class Plain:
    """``with Plain(sys.stderr) as progress: ...``"""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._board = Board()
        self._names: tuple[str, ...] = ()
        self._own: tuple[str, ...] = ()
        self._last = 0.0

    def __enter__(self) -> Plain:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def planned(self, trials: Sequence[Trial], known: Mapping[str, Outcome]) -> None:
        self._board.planned(trials, known, self._clock())
        self._names = grid.varied({}, [cell.knobs for cell in self._board.cells.values()])
        self._own = grid.varied({}, [t.knobs for t in trials if grid.reference(t.knobs)])
        cells = words.count(len(self._board.cells), "cell")
        self._say(f"{words.count(len(trials), 'trial')} in {cells}, {len(known)} already stored")

    def started(self, trial: Trial) -> None:
        self._board.started(trial)

    def ended(self, trial: Trial, outcome: Outcome) -> None:
        cell = self._board.ended(trial, outcome, self._clock())
        if cell is None:
            which = ", ".join(filter(None, (str(trial.repeat), named(trial.knobs, self._own))))
            self._say(f"reference {which}: {outcome.verdict.value}")
        elif cell.complete:
            self._say(f"{self._verdicts(cell)}  {named(cell.knobs, self._names)}")
        elif self._clock() - self._last >= SIGN_OF_LIFE_S:
            self._say(summary(self._board, self._clock()))

    def note(self, text: str) -> None:
        self._say(words.one_line(text, 400))

    def _verdicts(self, cell: CellState) -> str:
        counts = " ".join(f"{number} {verdict}" for verdict, number in cell.verdicts.items())
        return f"[{self._board.done}/{self._board.planned_trials}] {counts}"

    def _say(self, text: str) -> None:
        self._last = self._clock()
        print(f"fxrace: {text}", file=self._stream, flush=True)
