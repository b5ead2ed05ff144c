"""Two runs compared: causes new, gone and changed, and cells that came out otherwise.

A change of rate counts only where the two 95 % intervals share no rate, and a change of speed
only where the two ranges over three or more trials do not touch; the rest is noise and said to be
the same. Explorations replay a schedule, so their rates are those of the replays.
"""

from __future__ import annotations

from collections.abc import Mapping

from fxrace.core.baseline import apart
from fxrace.core.subjects import Cell, Document, Key, cells, rows, subject, tally, where
from fxrace.errors import UsageError
from fxrace.records.document import FindingRow, SweepDocument
from fxrace.records.tally import Spread, Tally
from fxrace.records.triage import CellChange, Change, DiffDocument, FindingChange

SCHEMA, SCHEMA_VERSION = "fxrace.diff", 1
LEAST_TIMED = 3
_ORDER = tuple(Change)


def diff(before: Document, after: Document, *, names: tuple[str, str]) -> DiffDocument:
    """What changed from one run to the other. Raises UsageError for runs of different verbs."""
    if type(before) is not type(after):
        raise UsageError(
            f"{names[0]} and {names[1]} are of different verbs", remedy="compare two of one kind"
        )
    old, new = cells(before), cells(after)
    compared = [_cell(old[name], new[name]) for name in new if name in old]
    changed = tuple(cell for cell in compared if _noteworthy(cell))
    return DiffDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        before=subject(before, old, name=names[0]),
        after=subject(after, new, name=names[1]),
        findings=_findings(before, after, old, new),
        cells=changed,
        unchanged=len(compared) - len(changed),
        only_before=len(old.keys() - new.keys()),
        only_after=len(new.keys() - old.keys()),
    )


def _findings(
    before: Document,
    after: Document,
    old_cells: Mapping[Key, Cell],
    new_cells: Mapping[Key, Cell],
) -> tuple[FindingChange, ...]:
    old, new = rows(before), rows(after)
    replays = not isinstance(before, SweepDocument)
    found = []
    for name in {**old, **new}:
        places = where(old_cells, name) | where(new_cells, name)
        rates = (tally(old_cells, places, name), tally(new_cells, places, name))
        if replays and name in old and name in new:
            rates = (old[name].reliability, new[name].reliability)
        found.append(_finding(old.get(name), new.get(name), *rates, old_cells, new_cells))
    return tuple(sorted(found, key=lambda f: (_ORDER.index(f.change), f.tier.value, f.title)))


def _finding(
    old: FindingRow | None,
    new: FindingRow | None,
    before: Tally | None,
    after: Tally | None,
    old_cells: Mapping[Key, Cell],
    new_cells: Mapping[Key, Cell],
) -> FindingChange:
    row = new or old
    assert row is not None
    differs = before is not None and after is not None and apart(before, after)
    if old is None:
        change = Change.NEW
    elif new is None:
        seen = where(old_cells, row.fingerprint)
        asked = any(new_cells[cell].trials for cell in seen if cell in new_cells)
        change = Change.GONE if asked else Change.UNASKED
    else:
        change = _direction(before, after) if differs else Change.SAME
    return FindingChange(
        fingerprint=row.fingerprint, title=row.title, tier=row.tier, state=row.state,
        hazard=row.hazard, change=change, before=before, after=after, beyond_chance=differs,
        replay=row.replay, suppressed=row.suppressed,
    )  # fmt: skip


def _cell(old: Cell, new: Cell) -> CellChange:
    differs = apart(old.failures, new.failures)
    return CellChange(
        knobs=new.knobs,
        before=old.verdicts,
        after=new.verdicts,
        failures_before=old.failures,
        failures_after=new.failures,
        failures=_direction(old.failures, new.failures) if differs else Change.SAME,
        throughput_before=old.throughput,
        throughput_after=new.throughput,
        speed=_speed(old.throughput, new.throughput),
    )


def _noteworthy(cell: CellChange) -> bool:
    """Other verdicts, a rate beyond chance, or another speed; more repeats alone are no news."""
    told = cell.before.keys() != cell.after.keys()
    return told or cell.failures is not Change.SAME or cell.speed is not Change.SAME


def _direction(before: Tally | None, after: Tally | None) -> Change:
    assert before is not None and after is not None
    return Change.MORE if after.low > before.high else Change.LESS


def _speed(before: Spread | None, after: Spread | None) -> Change:
    if before is None or after is None or min(before.n, after.n) < LEAST_TIMED:
        return Change.SAME
    if after.low > before.high:
        return Change.MORE
    return Change.LESS if after.high < before.low else Change.SAME
