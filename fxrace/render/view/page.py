"""What the HTML report shows, as plain values: every decision is here, none in the template.

The surprise is the budget: a sweep of 500 trials with endless messages must still open as one
small file, so what a reader would not read is counted instead of printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fxrace.records.document import CellRow, FindingRow, SweepDocument, TrialRow
from fxrace.records.outcome import ThreadStack
from fxrace.records.verdict import Verdict
from fxrace.render.view import grid, words
from fxrace.render.view.answer import Answer, Choice, choices, conclude, named
from fxrace.render.view.stacks import Room, Stack

FINDINGS, STACKED_TRIALS, THREADS, FAILING_TRIALS, STACKS = 20, 10, 16, 500, 250_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One place of the heat map. ``anchor`` is the id of its list of trials."""

    anchor: str
    row: CellRow
    worst: Verdict | None
    label: str
    trials: tuple[TrialRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alike:
    """Failing trials with the same verdict and message, told once."""

    verdict: Verdict
    symptom: str
    trials: tuple[TrialRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stuck:
    """A hung trial and where its threads stood, the program's own threads first."""

    trial: TrialRow
    threads: tuple[tuple[ThreadStack, Stack], ...]
    left_out: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """A finding with its stacks folded, and where it was seen: (what, how often)."""

    row: FindingRow
    stacks: tuple[Stack, ...]
    seen_in: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Everything on the page. The ``more_*`` counts say what was left out of it."""

    answer: Answer
    totals: tuple[tuple[Verdict, int], ...]
    sections: tuple[grid.Section, ...]
    cells: Mapping[grid.Key, Cell]
    choices: tuple[Choice, ...]
    causes: tuple[Cause, ...]
    alike: tuple[Alike, ...]
    failing: int
    linked: frozenset[str]
    stuck: tuple[Stuck, ...]
    references: tuple[TrialRow, ...]
    names: tuple[str, ...]
    oversubscribed: bool
    more_findings: int
    more_failing: int
    more_stuck: int

    @property
    def shares(self) -> dict[str, int]:
        """The totals by name, as the strip wants them."""
        return {verdict.value: number for verdict, number in self.totals}


def page(document: SweepDocument) -> Page:
    """Decide what to show of a sweep."""
    rows = grid.configurations(document)
    names = grid.varied(document.axes, [row.knobs for row in rows])
    own = [trial for trial in document.trials if not grid.reference(trial.knobs)]
    failing = [trial for trial in own if trial.verdict.failed]
    stuck = [trial for trial in failing if trial.stacks]
    room = Room(STACKS)
    return Page(
        answer=conclude(document),
        totals=_totals(own),
        sections=grid.sections(document),
        cells=_cells(document, rows, names),
        choices=choices(document),
        causes=tuple(_cause(row, document, names, room) for row in document.findings[:FINDINGS]),
        alike=_alike(failing[:FAILING_TRIALS]),
        failing=min(len(failing), FAILING_TRIALS),
        linked=frozenset(trial.digest for trial in failing[:FAILING_TRIALS]),
        stuck=tuple(_stuck(trial, room) for trial in stuck[:STACKED_TRIALS]),
        references=tuple(trial for trial in document.trials if grid.reference(trial.knobs)),
        names=names,
        oversubscribed=any(t.throughput and t.throughput.oversubscribed for t in own),
        more_findings=max(0, len(document.findings) - FINDINGS),
        more_failing=max(0, len(failing) - FAILING_TRIALS),
        more_stuck=max(0, len(stuck) - STACKED_TRIALS),
    )


def _totals(trials: list[TrialRow]) -> tuple[tuple[Verdict, int], ...]:
    counted = ((v, sum(trial.verdict is v for trial in trials)) for v in Verdict)
    return tuple((verdict, number) for verdict, number in counted if number)


def _cells(
    document: SweepDocument, rows: tuple[CellRow, ...], names: tuple[str, ...]
) -> dict[grid.Key, Cell]:
    trials = grid.trials_by_cell(document)
    return {
        grid.key(row.knobs): Cell(
            anchor=f"cell-{number}",
            row=row,
            worst=words.worst(row.verdicts),
            label=named(row.knobs, names) or "the one configuration",
            trials=trials.get(grid.key(row.knobs), ()),
        )
        for number, row in enumerate(rows, start=1)
    }


def _cause(row: FindingRow, document: SweepDocument, names: tuple[str, ...], room: Room) -> Cause:
    wanted = set(row.trials)
    seen: dict[str, int] = {}
    for trial in document.trials:
        if trial.digest in wanted:
            label = named(trial.knobs, names) or "the one configuration"
            seen[label] = seen.get(label, 0) + 1
    return Cause(
        row=row,
        stacks=tuple(room.fold(side.stack) for side in row.sides),
        seen_in=tuple((label, words.count(number, "trial")) for label, number in seen.items()),
    )


def _alike(failing: list[TrialRow]) -> tuple[Alike, ...]:
    groups: dict[tuple[Verdict, str], list[TrialRow]] = {}
    for trial in failing:
        groups.setdefault((trial.verdict, trial.symptom), []).append(trial)
    most_first = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return tuple(
        Alike(verdict=verdict, symptom=symptom, trials=tuple(trials))
        for (verdict, symptom), trials in most_first
    )


def _stuck(trial: TrialRow, room: Room) -> Stuck:
    pairs = [(thread, room.fold(thread.frames)) for thread in trial.stacks[: 2 * THREADS]]
    pairs.sort(key=lambda pair: not pair[1].own)
    return Stuck(
        trial=trial, threads=tuple(pairs[:THREADS]), left_out=max(0, len(trial.stacks) - THREADS)
    )
