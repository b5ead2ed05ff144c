"""What a test becomes by what was found in it. Pure.

A cause that its markers or the baseline know makes it an expected failure; any other one of a
tier that counts fails it. Where nothing can be said it is skipped, never passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fxrace.core.attribute import slugs_of
from fxrace.pipeline import hazards
from fxrace.records.document import FindingRow
from fxrace.records.exploration import PairVerdict
from fxrace.records.finding import Tier
from fxrace.records.testing import Became
from fxrace.testing.wanted import CLEAN, Known

_SAYS_NOTHING = (PairVerdict.INCONCLUSIVE, PairVerdict.SKIPPED, PairVerdict.BLOCKED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """``counted`` are the rows that fail the test, ``known`` those that are forgiven."""

    became: Became
    reason: str
    counted: tuple[FindingRow, ...] = ()
    known: tuple[FindingRow, ...] = ()


def judge(
    rows: Sequence[FindingRow], verdict: PairVerdict, reason: str, *, expect: str,
    known: Sequence[Known], baseline: frozenset[str], fail_on: frozenset[Tier], torch: str,
) -> Judged:  # fmt: skip
    """``reason`` is why ``verdict`` says nothing, where it does not."""
    serious = [row for row in rows if row.tier in fail_on]
    forgiven = {row.fingerprint: why for row in serious if (why := _why(row, known, torch))}
    forgiven |= {
        row.fingerprint: "in the baseline" for row in serious if row.fingerprint in baseline
    }
    counted = tuple(row for row in serious if row.fingerprint not in forgiven)
    spared = tuple(row for row in serious if row.fingerprint in forgiven)
    if expect != CLEAN:
        return _as_expected(expect, counted, spared, verdict, reason)
    if counted:
        return Judged(became=Became.FAILED, reason=counted[0].title, counted=counted, known=spared)
    if spared:
        told = "; ".join(dict.fromkeys(forgiven.values()))
        return Judged(became=Became.KNOWN, reason=f"known race: {told}", known=spared)
    if verdict in _SAYS_NOTHING:
        return Judged(became=Became.NOTHING, reason=f"nothing can be said: {reason}")
    return Judged(became=Became.PASSED, reason="")


def _as_expected(
    expect: str, counted: tuple[FindingRow, ...], spared: tuple[FindingRow, ...],
    verdict: PairVerdict, reason: str,
) -> Judged:  # fmt: skip
    met = [row for row in (*counted, *spared) if names(expect, row)]
    others = tuple(row for row in counted if row not in met)
    if others:
        return Judged(became=Became.FAILED, reason=others[0].title, counted=others)
    if met:
        return Judged(became=Became.PASSED, reason=f"{expect} was expected and found")
    if verdict in _SAYS_NOTHING:
        return Judged(became=Became.NOTHING, reason=f"nothing can be said: {reason}")
    return Judged(became=Became.FAILED, reason=f"{expect} was expected and not found")


def names(what: str, row: FindingRow) -> bool:
    """True where ``what`` is the row's fingerprint, or a hazard that it may be called by."""
    return what in (row.fingerprint, row.hazard) or what in slugs_of(row, hazards())


def holds(known: Known, torch: str) -> bool:
    """True while the fix is not in this torch."""
    return not known.until or _numbers(torch) < _numbers(known.until)


def _why(row: FindingRow, known: Iterable[Known], torch: str) -> str:
    found = next((one for one in known if names(one.what, row) and holds(one, torch)), None)
    return "" if found is None else found.issue or found.what


def _numbers(version: str) -> tuple[int, ...]:
    """``2.14.0.dev1+cpu`` as (2, 14, 0)."""
    parts = version.partition("+")[0].split(".")
    return tuple(int(part) for part in parts[:3] if part.isdigit())
