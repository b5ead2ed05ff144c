"""The matrix of an exploration as plain values: who was stopped, who ran, what came of it.

Each cause has a letter, and a cell shows the letter of the gravest cause found in its pair, so
that one look says which pairs fail alike. The surprise: a pair with no difference has two signs,
for "at every point" and for "at the points that were tried".
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from fxrace.core.pairs import INTERFERENCE
from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument, PairRow, PairVerdict
from fxrace.render.view import words

LETTERS = string.ascii_uppercase + string.ascii_lowercase
MORE = "+"
SAFE, SAMPLED, BLOCKED, UNSURE, SKIPPED, NOT_RUN = "\u00b7", "-", "=", "?", "x", " "

SIGNS: Mapping[str, str] = {
    SAFE: "no difference at any point",
    SAMPLED: "no difference at the points tried",
    BLOCKED: "always waited for a lock",
    UNSURE: "inconclusive",
    SKIPPED: "cannot run here",
}
_SIGN = {
    PairVerdict.BLOCKED: BLOCKED,
    PairVerdict.INCONCLUSIVE: UNSURE,
    PairVerdict.SKIPPED: SKIPPED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One pair. ``sign`` is a cause's letter or one of SIGNS; ``style`` names its colour."""

    pair: PairRow
    sign: str
    style: str
    anchor: str
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """``rows`` are stopped, ``columns`` run meanwhile, both in the order of the pairs."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    letters: Mapping[str, str]
    counts: Mapping[PairVerdict, int]

    @property
    def signs(self) -> tuple[str, ...]:
        """The signs that occur, in the order of SIGNS."""
        used = {cell.sign for cell in self.cells.values()}
        return tuple(sign for sign in SIGNS if sign in used)


def matrix(document: ExploreDocument) -> Matrix:
    """Lay out the pairs of an exploration."""
    letters = letters_of(document.findings)
    cells = {(pair.a, pair.b): _cell(pair, letters) for pair in document.pairs}
    return Matrix(
        rows=tuple(dict.fromkeys(pair.a for pair in document.pairs)),
        columns=tuple(dict.fromkeys(pair.b for pair in document.pairs)),
        cells=cells,
        letters=letters,
        counts={v: sum(pair.verdict is v for pair in document.pairs) for v in PairVerdict},
    )


def letters_of(findings: tuple[FindingRow, ...]) -> Mapping[str, str]:
    """Fingerprint -> letter, gravest first; beyond the alphabet all share one."""
    return {
        finding.fingerprint: LETTERS[number] if number < len(LETTERS) else MORE
        for number, finding in enumerate(findings)
    }


def _cell(pair: PairRow, letters: Mapping[str, str]) -> Cell:
    return Cell(
        pair=pair,
        sign=_sign(pair, letters),
        style=pair.verdict.value,
        anchor=f"pair-{pair.digest}",
        told=f"{who(pair)}: {told(pair)}",
    )


def _sign(pair: PairRow, letters: Mapping[str, str]) -> str:
    if pair.verdict is PairVerdict.FINDING:
        # Letters are dealt gravest first, so the first that this pair has is its gravest.
        return next((sign for print_, sign in letters.items() if print_ in pair.findings), MORE)
    if pair.verdict is PairVerdict.SAFE:
        return SAFE if pair.exhausted else SAMPLED
    return _SIGN[pair.verdict]


def who(pair: PairRow) -> str:
    """The two, and which of them was stopped where only one was."""
    if pair.strategy == INTERFERENCE:
        return f"{pair.a} stopped, {pair.b} runs"
    return f"{pair.a} and {pair.b}"


def told(pair: PairRow) -> str:
    """A pair's result in a clause: ``76 differences at 300 of 300 points, 2 causes``."""
    if pair.verdict in (PairVerdict.INCONCLUSIVE, PairVerdict.SKIPPED):
        return f"{pair.verdict.value}: {words.one_line(pair.reason, 200)}"
    if pair.strategy != INTERFERENCE:
        return _scheduled(pair)
    where = f"{pair.stopped:,} of {words.count(pair.points, 'point')}"
    if pair.verdict is PairVerdict.BLOCKED:
        return f"waited for a lock at all {where} tried"
    if pair.verdict is PairVerdict.SAFE:
        waited = f", waited for a lock at {pair.blocked:,}" if pair.blocked else ""
        return f"no difference at {where}{waited}"
    causes = words.count(len(pair.findings), "cause")
    return f"{words.count(pair.differences, 'difference')} at {where}, {causes}"


def headline(document: ExploreDocument) -> str:
    """The exploration in one sentence."""
    counts = matrix(document).counts
    unsaid = counts[PairVerdict.INCONCLUSIVE]
    tried = sum(counts.values()) - counts[PairVerdict.SKIPPED] - unsaid
    if not tried:
        return "No pair was explored, so nothing can be said."
    open_ = f" {words.count(unsaid, 'pair')} inconclusive." if unsaid else ""
    found = counts[PairVerdict.FINDING]
    uncatalogued = sum(1 for finding in document.findings if finding.hazard is None)
    causes = words.count(len(document.findings), "cause")
    if not found:
        return f"No difference in {words.count(tried, 'pair')}, up to the bound.{open_}"
    verb = "comes" if found == 1 else "come"
    return (
        f"{found:,} of {words.count(tried, 'pair')} {verb} out unlike running alone: {causes}, "
        f"{uncatalogued} of them uncatalogued.{open_}"
    )


def _scheduled(pair: PairRow) -> str:
    """What a scheduler may say: all schedules to a bound, or as many as there was time for."""
    bound = words.count(pair.preemption_bound, "preemption")
    all_ = f"all {pair.schedules:,} schedules with at most {bound}"
    which = all_ if pair.exhausted else f"{words.count(pair.schedules, 'schedule')} tried"
    slips = f", {words.count(pair.slips, 'slip')}" if pair.slips else ""
    if pair.verdict is PairVerdict.SAFE:
        return f"no difference in {which}{slips}"
    causes = words.count(len(pair.findings), "cause")
    return f"{pair.differences:,} of {which} differ, {causes}{slips}"
