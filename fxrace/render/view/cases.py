"""A sweep's cells and an exploration's pairs as one list of cases: what test reports count.

Why here: JUnit, Markdown and a job log all ask how many passed, and must not disagree. The
surprise: a case whose every finding is suppressed is no failure, but no pass either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from fxrace.core.suppressions import lived_with
from fxrace.records.document import CellRow, FindingRow, SweepDocument, TrialRow
from fxrace.records.exploration import ExploreDocument, PairRow, PairVerdict
from fxrace.records.verdict import Verdict
from fxrace.render.view import answer, grid, matrix, words

Document = SweepDocument | ExploreDocument


class Result(str, Enum):
    """What a test report makes of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SUPPRESSED = "suppressed"
    UNTOLD = "untold"
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One cell or pair. ``told`` is its result in a clause; ``symptoms`` what failing trials said;
    ``figures`` a few further columns, by name.
    """

    name: str
    result: Result
    told: str
    seconds: float
    symptoms: tuple[str, ...]
    findings: tuple[FindingRow, ...]
    figures: Mapping[str, str]


def cases(document: Document) -> tuple[Case, ...]:
    """Every cell that is about the program, or every pair, in the document's order."""
    known = {row.fingerprint: row for row in document.findings}
    if isinstance(document, ExploreDocument):
        return tuple(_pair(pair, known) for pair in document.pairs)
    cells = grid.configurations(document)
    names = grid.varied(document.axes, [cell.knobs for cell in cells])
    trials = grid.trials_by_cell(document)
    return tuple(_cell(cell, names, trials.get(grid.key(cell.knobs), ()), known) for cell in cells)


def headline(document: Document) -> str:
    """The answer in a sentence or two."""
    if isinstance(document, ExploreDocument):
        cut = " It was interrupted: this covers what ran." if document.interrupted else ""
        return matrix.headline(document) + cut
    told = answer.conclude(document)
    return f"{told.headline} {told.detail}".strip()


def title(document: Document) -> str:
    """``fxrace sweep 3, torch 2.13.0``."""
    verb = "explore" if isinstance(document, ExploreDocument) else "sweep"
    return words.one_line(f"fxrace {verb} {document.run}, torch {document.environment.torch}", 120)


def seen(row: FindingRow, document: Document) -> str:
    """``3 of 48 trials``, with ``2 of 4 reference runs`` where those show it too, or only those."""
    if isinstance(document, ExploreDocument):
        return f"{len(row.trials)} of {words.count(len(document.pairs), 'pair')}"
    struck, told = set(row.trials), []
    for noun, wanted in (("trial", False), ("reference run", True)):
        of = [t.digest for t in document.trials if grid.reference(t.knobs) is wanted]
        if number := len(struck.intersection(of)):
            told.append(f"{number} of {words.count(len(of), noun)}")
    return " and ".join(told) or "no trial of this run"


def _cell(
    cell: CellRow,
    names: tuple[str, ...],
    trials: tuple[TrialRow, ...],
    known: Mapping[str, FindingRow],
) -> Case:
    failing = [trial for trial in trials if trial.verdict.failed]
    found = _rows((name for trial in failing for name in trial.findings), known)
    worst = words.worst(cell.verdicts)
    result = _result(worst)
    if result is Result.FAILED and all(lived_with(t.findings, known) for t in failing):
        result = Result.SUPPRESSED
    counts = ", ".join(f"{number} {verdict}" for verdict, number in cell.verdicts.items())
    silent = [t.symptom for t in (failing or trials) if t.symptom]
    return Case(
        name=answer.named(cell.knobs, names) or "the one configuration",
        result=result,
        told=counts,
        seconds=sum(trial.duration_s for trial in trials),
        symptoms=tuple(dict.fromkeys(silent)),
        findings=found,
        figures={
            "failed": words.rate(cell.failure_rate),
            "draft slots/s": words.spread(cell.throughput),
        },
    )


def _pair(pair: PairRow, known: Mapping[str, FindingRow]) -> Case:
    found = _rows(pair.findings, known)
    result = {
        PairVerdict.SAFE: Result.PASSED,
        PairVerdict.FINDING: Result.FAILED,
    }.get(pair.verdict, Result.UNTOLD)
    if result is Result.FAILED and found and all(row.suppressed is not None for row in found):
        result = Result.SUPPRESSED
    return Case(
        name=matrix.who(pair),
        result=result,
        told=matrix.told(pair),
        seconds=pair.duration_s,
        symptoms=(pair.reason,) if pair.reason else (),
        findings=found,
        figures={"schedules": f"{pair.schedules:,}"},
    )


def _result(worst: Verdict | None) -> Result:
    if worst is None or worst is Verdict.BROKEN:
        return Result.BROKEN if worst else Result.UNTOLD
    if worst.failed:
        return Result.FAILED
    return Result.PASSED if worst is Verdict.CLEAN else Result.UNTOLD


def _rows(names: Iterable[str], known: Mapping[str, FindingRow]) -> tuple[FindingRow, ...]:
    return tuple(known[name] for name in dict.fromkeys(names) if name in known)
