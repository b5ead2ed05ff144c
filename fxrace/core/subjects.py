"""Documents of any verb as what can be compared: cells, who failed in them, who was seen where.

A cell is one combination of knobs, or a pair of operations, or a program. Two runs are compared
in the same cells only, so that a run of other cells neither clears a cause nor makes it worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fxrace.core.expand import REFERENCE_KNOBS
from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow, RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument, PairVerdict
from fxrace.records.tally import Spread, Tally
from fxrace.records.triage import Subject

Document = SweepDocument | ExploreDocument | RunDocument
Key = tuple[tuple[str, str], ...]
_UNSAID = frozenset({PairVerdict.INCONCLUSIVE, PairVerdict.SKIPPED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """What is known of one cell. ``seen`` is fingerprint -> how many of ``trials`` showed it."""

    knobs: Mapping[str, str]
    verdicts: Mapping[str, int]
    failures: Tally
    throughput: Spread | None
    trials: int
    seen: Mapping[str, int]


def key(knobs: Mapping[str, str]) -> Key:
    """Something hashable and order-free that names a cell."""
    return tuple(sorted(knobs.items()))


def subject(document: Document, known: Mapping[Key, Cell], *, name: str) -> Subject:
    """Who is compared; ``known`` are the document's cells."""
    trials = sum(cell.trials for cell in known.values())
    if isinstance(document, RunDocument):
        return Subject(
            name=name, verb="run", run="", torch=document.torch or "none", python="", machine="",
            trials=trials,
        )  # fmt: skip
    there = document.environment
    gpus = ", ".join(there.gpus) or "no GPU"
    return Subject(
        name=name,
        verb="sweep" if isinstance(document, SweepDocument) else "explore",
        run=document.run,
        torch=there.torch,
        python=there.python,
        machine=f"{there.platform}, {there.cpu_count} processors, {gpus}",
        trials=trials,
    )


def cells(document: Document) -> dict[Key, Cell]:
    """Every cell that is about the program under test."""
    if isinstance(document, SweepDocument):
        return _of_sweep(document)
    if isinstance(document, ExploreDocument):
        return _of_exploration(document)
    verdicts = {"timed out" if document.timed_out else f"exit {document.exit_status}": 1}
    watched = document.runs if document.torch else 0
    command = {"command": " ".join(document.command)}
    seen = {row.fingerprint: row.reliability.k for row in document.findings}
    return {
        key(command): Cell(
            knobs=command, verdicts=verdicts, failures=wilson(0, 0), throughput=None,
            trials=watched, seen=seen,
        )
    }  # fmt: skip


def where(known: Mapping[Key, Cell], fingerprint: str) -> frozenset[Key]:
    """The cells in which a cause was seen."""
    return frozenset(name for name, cell in known.items() if fingerprint in cell.seen)


def tally(known: Mapping[Key, Cell], names: Iterable[Key], fingerprint: str) -> Tally | None:
    """How often a cause was seen in these cells; None when none of them has run."""
    among = [known[name] for name in names if name in known]
    trials = sum(cell.trials for cell in among)
    k = sum(cell.seen.get(fingerprint, 0) for cell in among)
    return wilson(min(k, trials), trials) if trials else None


def rows(document: Document) -> dict[str, FindingRow]:
    """Fingerprint -> the finding."""
    return {row.fingerprint: row for row in document.findings}


def _of_sweep(document: SweepDocument) -> dict[Key, Cell]:
    trials: dict[Key, int] = {}
    seen: dict[Key, dict[str, int]] = {}
    for trial in document.trials:
        name = key(trial.knobs)
        counts = seen.setdefault(name, {})
        trials[name] = trials.get(name, 0) + trial.verdict.conclusive
        for found in dict.fromkeys(trial.findings):
            counts[found] = counts.get(found, 0) + 1
    return {
        (name := key(cell.knobs)): Cell(
            knobs=cell.knobs,
            verdicts=cell.verdicts,
            failures=cell.failure_rate,
            throughput=cell.throughput,
            trials=trials.get(name, 0),
            seen=seen.get(name, {}),
        )
        for cell in document.cells
        if cell.knobs.get("execution") != REFERENCE_KNOBS["execution"]
    }


def _of_exploration(document: ExploreDocument) -> dict[Key, Cell]:
    """A pair is one trial: its schedules are no sample, they are tried one by one."""
    found: dict[Key, Cell] = {}
    for pair in document.pairs:
        knobs = {"a": pair.a, "b": pair.b}
        said = pair.verdict not in _UNSAID
        found[key(knobs)] = Cell(
            knobs=knobs,
            verdicts={pair.verdict.value: 1},
            failures=wilson(int(pair.verdict is PairVerdict.FINDING), 1) if said else wilson(0, 0),
            throughput=None,
            trials=int(said),
            seen=dict.fromkeys(pair.findings, 1),
        )
    return found
