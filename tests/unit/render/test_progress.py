"""Both displays count right, fit their room, and stay quiet where nobody watches."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping

import pytest
from rich.console import Console

from fxrace.core.expand import REFERENCE_KNOBS
from fxrace.records.outcome import Outcome
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.render import live
from fxrace.render.plain import Plain
from fxrace.render.view import mosaic
from fxrace.render.view.board import Board, summary
from tests.unit.render.documents import AXES


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def plan(repeats: int = 1, axes: Mapping[str, tuple[str, ...]] = AXES) -> list[Trial]:
    references = [Trial(target="a:b", knobs=REFERENCE_KNOBS, repeat=n) for n in range(2)]
    return references + [
        Trial(target="a:b", knobs=dict(zip(axes, values, strict=True)), repeat=n)
        for n in range(repeats)
        for values in itertools.product(*axes.values())
    ]


def outcome(verdict: Verdict = Verdict.CLEAN) -> Outcome:
    return Outcome(verdict=verdict, symptom="", duration_s=1.0)


def filled(repeats: int = 1, axes: Mapping[str, tuple[str, ...]] = AXES) -> Board:
    board, clock = Board(), Clock()
    trials = plan(repeats, axes)
    board.planned(trials, {trials[2].digest: outcome()}, clock())
    for trial, verdict in zip(trials[3:40], itertools.cycle(Verdict), strict=False):
        board.started(trial)
        board.ended(trial, outcome(verdict), clock())
    board.started(trials[60])
    return board


def drawn(board: Board, width: int, height: int) -> list[str]:
    target = io.StringIO()
    Console(file=target, width=width, force_terminal=False).print(
        mosaic.mosaic(board, width, height)
    )
    return target.getvalue().splitlines()


def test_the_default_sweep_fits_eighty_columns() -> None:
    lines = drawn(filled(repeats=3), 80, 24)
    assert max(len(line) for line in lines) <= 80
    cells = [line for line in lines if line.startswith(("none ", "exec_lock ", "whole_step "))]
    assert len(cells) == 9
    assert any(" R1" in line for line in cells)
    assert any(" > " in line for line in cells)


def test_headings_are_written_out_where_there_is_room() -> None:
    axes = {**AXES, "warmup": ("none",)}
    wide, narrow = (drawn(filled(repeats=2, axes=axes), width, 24)[0] for width in (100, 50))
    assert all(name in wide for name in axes["attention"])
    assert not any(name in narrow for name in axes["attention"])
    assert "\u2026" in narrow


def test_a_sweep_without_sections_has_no_headings() -> None:
    board = Board()
    axes = {"locking": ("none", "whole_step"), "checkpoint": ("off",), "warmup": ("none",)}
    board.planned(plan(axes=axes), {}, 0.0)
    lines = drawn(board, 80, 24)
    assert lines[0].startswith("locking checkpoint")
    assert len(lines) == 1 + 2


@pytest.mark.parametrize(("width", "height"), [(40, 24), (80, 6), (40, 5)])
def test_a_small_terminal_folds_to_counters(width: int, height: int) -> None:
    lines = drawn(filled(), width, height)
    assert len(lines) <= height
    assert max(len(line.rstrip()) for line in lines) <= width
    assert "left" in lines[0]


def test_a_large_sweep_folds_too() -> None:
    axes = {**AXES, "loss": ("a", "b", "c", "d")}
    lines = drawn(filled(axes=axes), 80, 24)
    assert "left" in lines[0]
    assert len(lines) <= 24


def test_cells_count_known_running_and_ended() -> None:
    board = filled()
    assert (board.known, board.run, board.done) == (1, 37, 38)
    assert sum(board.totals.values()) == 38
    assert sum(cell.running for cell in board.cells.values()) == 1
    assert len(board.cells) == 108


def test_references_are_counted_apart() -> None:
    board, trials = Board(), plan()
    board.planned(trials, {}, 0.0)
    assert board.ended(trials[0], outcome(), 1.0) is None
    assert (board.references, board.totals) == ({"CLEAN": 1}, {})
    board.ended(trials[1], outcome(Verdict.WRONG), 2.0)
    assert live._counters(board).plain == "references: clean 1, wrong 1"


def test_references_are_told_by_what_sets_them_apart() -> None:
    stream = io.StringIO()
    progress = Plain(stream)
    kinds = [{**REFERENCE_KNOBS, "attention": name} for name in ("dense", "flex")]
    trials = [Trial(target="a:b", knobs=knobs, repeat=n) for knobs in kinds for n in range(2)]
    progress.planned([*trials, *plan()[2:]], {})
    for trial in trials:
        progress.ended(trial, outcome())
    told = [line.rpartition(": ")[0] for line in stream.getvalue().splitlines()[1:]]
    assert told == [
        f"fxrace: reference {n}, attention={a}" for a in ("dense", "flex") for n in (0, 1)
    ]


def test_time_left_follows_the_rate() -> None:
    board, trials = Board(), plan()
    board.planned(trials, {}, 0.0)
    assert board.left_s(5.0) is None
    for n, trial in enumerate(trials[2:12], start=1):
        board.ended(trial, outcome(), 2.0 * n)
    assert board.rate(20.0) == pytest.approx(0.5)
    assert board.left_s(20.0) == pytest.approx((110 - 10) / 0.5)
    assert "10 of 110 trials" in summary(board, 20.0)


def test_nothing_planned_is_no_error() -> None:
    board = Board()
    board.planned([], {}, 0.0)
    assert summary(board, 1.0) == "0 of 0 trials"
    assert drawn(board, 80, 24)


def test_plain_writes_one_line_per_cell_and_no_codes() -> None:
    stream, trials = io.StringIO(), plan(repeats=2)
    with Plain(stream, Clock()) as progress:
        progress.planned(trials, {})
        for trial in trials:
            progress.started(trial)
            progress.ended(trial, outcome())
        progress.note("done\x1b[2J\nreally")
    lines = stream.getvalue().splitlines()
    assert "\x1b" not in stream.getvalue()
    assert all(line.startswith("fxrace: ") for line in lines)
    cells = [line for line in lines if "] 2 CLEAN  locking=" in line]
    assert len(cells) == 108
    assert lines[-1] == "fxrace: done really"


def test_the_table_runs_from_start_to_end() -> None:
    target = io.StringIO()
    console = Console(file=target, width=80, height=24, force_terminal=True, color_system=None)
    with live.Table(console, Clock()) as progress:
        trials = plan()
        progress.note("starting")
        progress.planned(trials, {})
        for trial in trials:
            progress.started(trial)
            progress.ended(trial, outcome(Verdict.RAISED))
    assert "108 of 110" not in target.getvalue()
    assert "110 of 110 trials" in target.getvalue()
    assert "raised 108" in target.getvalue()


def test_ci_and_pipes_get_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(live.display(), Plain)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("CI", "true")
    assert isinstance(live.display(), Plain)
    monkeypatch.delenv("CI")
    assert isinstance(live.display(), live.Table)


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    target = io.StringIO()
    console = Console(file=target, width=80, force_terminal=True, color_system="standard")
    console.print(mosaic.mosaic(filled(), 80, 24))
    assert not [code for code in ("\x1b[3", "\x1b[4", ";4") if code in target.getvalue()]
