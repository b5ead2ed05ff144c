"""The life of each cause over the runs of a store: who saw it, and who looked and did not.

A run looked for a cause when it tried a cell in which the cause was ever seen; any other run says
nothing about it and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fxrace.core.subjects import Cell, Document, Key, cells, rows, subject, tally, where
from fxrace.records.document import FindingRow
from fxrace.records.tally import Tally
from fxrace.records.triage import Appearance, Life


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """One run of the store with its document."""

    number: int
    started: str
    document: Document


def lives(past: Sequence[Past], *, wanted: str = "") -> tuple[Life, ...]:
    """One Life per cause whose fingerprint begins with ``wanted``, seen last first."""
    known = [_Read(past=one, found=rows(one.document), table=cells(one.document)) for one in past]
    newest: dict[str, FindingRow] = {}
    for one in known:
        newest |= one.found
    found = [_life(row, known) for name, row in newest.items() if name.startswith(wanted)]
    return tuple(sorted(found, key=lambda life: (-life.last, life.tier.value, life.title)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """A run with its causes and cells, taken out of its document once."""

    past: Past
    found: Mapping[str, FindingRow]
    table: Mapping[Key, Cell]


def _life(row: FindingRow, known: Sequence[_Read]) -> Life:
    name = row.fingerprint
    places = frozenset[Key]().union(*(where(one.table, name) for one in known))
    saw = [one.past.number for one in known if name in one.found]
    runs = (_appearance(one, tally(one.table, places, name)) for one in known)
    return Life(
        fingerprint=name, title=row.title, tier=row.tier, state=row.state, hazard=row.hazard,
        first=min(saw), last=max(saw), runs=tuple(run for run in runs if run is not None),
    )  # fmt: skip


def _appearance(one: _Read, seen: Tally | None) -> Appearance | None:
    if seen is None:
        return None
    about = subject(one.past.document, one.table, name="")
    return Appearance(
        run=one.past.number,
        started=one.past.started,
        verb=about.verb,
        torch=about.torch,
        seen=seen,
    )
