"""The life of each cause over the runs of a store: who saw it, and who looked and did not.

A run looked for a cause when it tried a cell in which the cause was ever seen; any other run says
nothing about it and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fxrace.core.subjects import Cell, Document, Key, cells, rows, subject, tally, where
from fxrace.records.document import FindingRow
from fxrace.records.triage import Appearance, Life


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """One run of the store with its document."""

    number: int
    started: str
    document: Document


def lives(past: Sequence[Past], *, wanted: str = "") -> tuple[Life, ...]:
    """One Life per cause whose fingerprint begins with ``wanted``, seen last first."""
    known = [(one, cells(one.document)) for one in past]
    newest: dict[str, FindingRow] = {}
    for one in past:
        newest |= rows(one.document)
    found = [_life(row, known) for name, row in newest.items() if name.startswith(wanted)]
    return tuple(sorted(found, key=lambda life: (-life.last, life.tier.value, life.title)))


def _life(row: FindingRow, known: Sequence[tuple[Past, dict[Key, Cell]]]) -> Life:
    name = row.fingerprint
    places = frozenset[Key]().union(*(where(table, name) for _, table in known))
    runs = []
    saw = []
    for one, table in known:
        seen = tally(table, places, name)
        if name in rows(one.document):
            saw.append(one.number)
        if seen is None:
            continue
        about = subject(one.document, name="")
        runs.append(
            Appearance(
                run=one.number, started=one.started, verb=about.verb, torch=about.torch, seen=seen
            )
        )
    return Life(
        fingerprint=name, title=row.title, tier=row.tier, state=row.state, hazard=row.hazard,
        first=min(saw), last=max(saw), runs=tuple(runs),
    )  # fmt: skip
