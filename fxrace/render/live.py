"""The live table of a sweep, on stderr: every cell a letter that fills in as trials end.

Rows are locking x checkpoint, columns are warm-ups under each further combination (attention,
pressure). A table wider than the terminal folds into counters per row instead of wrapping.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Union

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fxrace.records.outcome import Outcome
from fxrace.records.trial import Trial
from fxrace.render.plain import Plain
from fxrace.render.view import words
from fxrace.render.view.board import Board, summary
from fxrace.render.view.mosaic import STYLES, legend, mosaic

LINES_BELOW = 6
Display = Union["Table", Plain]


def display() -> Display:
    """The live table where someone is watching, plain lines in CI, pipes and dumb terminals."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI"):
        return Table(console)
    return Plain(sys.stderr)


class Table:
    """``with Table(console) as progress: ...``; ``console`` should write to stderr."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._board = Board()
        self._live = Live(
            console=console, get_renderable=self._draw, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Table:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def planned(self, trials: Sequence[Trial], known: Mapping[str, Outcome]) -> None:
        self._board.planned(trials, known, self._clock())

    def started(self, trial: Trial) -> None:
        self._board.started(trial)

    def ended(self, trial: Trial, outcome: Outcome) -> None:
        self._board.ended(trial, outcome, self._clock())

    def note(self, text: str) -> None:
        self._board.note = words.one_line(text, 300)

    def _draw(self) -> RenderableType:
        """The whole picture; also called from rich's refresh thread, so it only reads."""
        now, board = self._clock(), self._board
        lines: list[RenderableType] = []
        if board.cells:
            room = self._console.height - LINES_BELOW
            lines += [mosaic(board, self._console.width, room), legend(board)]
        lines.append(_counters(board))
        lines.append(Text(summary(board, now) if board.planned_trials else "preparing"))
        if board.note:
            lines.append(Text(board.note, style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*lines)


def _counters(board: Board) -> Text:
    line = Text()
    for verdict, letter in words.LETTERS.items():
        number = board.totals.get(verdict.value, 0)
        if number:
            line.append(letter, style=STYLES[verdict])
            line.append(f" {verdict.value.lower()} {number}  ")
    told = ", ".join(f"{name.lower()} {number}" for name, number in board.references.items())
    if told:
        line.append(f"references: {told}", style="dim")
    return line
