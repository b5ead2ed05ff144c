"""Arranges the cells of a sweep as small multiples: locking x checkpoint, once per warm-up.

Every axis beyond those three opens a section of its own (attention, pressure, whatever comes).
The surprise: the single-threaded reference is a trial like any other, with the knob
``execution=oracle``; it is evidence, not a configuration, so it never becomes a cell here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fxrace.core.expand import REFERENCE_KNOBS
from fxrace.records.document import CellRow, SweepDocument, TrialRow

ROW, COLUMN, PANEL = "locking", "checkpoint", "warmup"
SECTIONS = ("attention", "pressure")
NO_VALUE = "\u2013"
Knobs = Mapping[str, str]
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One warm-up: ``cells`` holds (row, column) -> cell, absent where nothing was planned."""

    value: str
    cells: Mapping[tuple[str, str], CellRow]


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One combination of all axes that are neither row, column nor panel."""

    knobs: Knobs
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    panels: tuple[Panel, ...]

    @property
    def title(self) -> str:
        return ", ".join(f"{axis} {value}" for axis, value in self.knobs.items())

    @property
    def cells(self) -> tuple[CellRow, ...]:
        return tuple(cell for panel in self.panels for cell in panel.cells.values())


def reference(knobs: Knobs) -> bool:
    """True for the single-threaded run that the others are compared with."""
    return knobs.get("execution") == REFERENCE_KNOBS["execution"]


def key(knobs: Knobs) -> Key:
    """Something hashable and order-free that names a combination."""
    return tuple(sorted(knobs.items()))


def configurations(document: SweepDocument) -> tuple[CellRow, ...]:
    """The cells that are about the program under test."""
    return tuple(cell for cell in document.cells if not reference(cell.knobs))


def trials_by_cell(document: SweepDocument) -> Mapping[Key, tuple[TrialRow, ...]]:
    """The trials of each cell, in the document's order."""
    grouped: dict[Key, list[TrialRow]] = {}
    for trial in document.trials:
        grouped.setdefault(key(trial.knobs), []).append(trial)
    return {k: tuple(rows) for k, rows in grouped.items()}


def values(axes: Mapping[str, tuple[str, ...]], axis: str, seen: Iterable[Knobs]) -> list[str]:
    """The values of an axis: planned order first, then whatever else turned up."""
    seen_values = (knobs.get(axis, NO_VALUE) for knobs in seen)
    present = dict.fromkeys(seen_values)
    return [v for v in axes.get(axis, ()) if v in present] + [
        v for v in present if v not in axes.get(axis, ())
    ]


def varied(axes: Mapping[str, tuple[str, ...]], seen: Iterable[Knobs]) -> tuple[str, ...]:
    """The axes with more than one value, in reading order; the others need no mention."""
    knobs = list(seen)
    names = dict.fromkeys((ROW, COLUMN, PANEL, *SECTIONS, *axes, *(a for k in knobs for a in k)))
    return tuple(name for name in names if len(values(axes, name, knobs)) > 1)


def section_axes(axes: Mapping[str, tuple[str, ...]], seen: Iterable[Knobs]) -> tuple[str, ...]:
    """The axes that open sections: attention and pressure if planned, and all that vary."""
    knobs = list(seen)
    wanted = (*SECTIONS, *varied(axes, knobs))
    present = {name for k in knobs for name in k}
    return tuple(
        name
        for name in dict.fromkeys(wanted)
        if name in present and name not in (ROW, COLUMN, PANEL)
    )


def sections(document: SweepDocument) -> tuple[Section, ...]:
    """All cells, arranged. Empty when nothing was planned."""
    cells = configurations(document)
    knobs = [cell.knobs for cell in cells]
    names = section_axes(document.axes, knobs)
    groups: dict[tuple[str, ...], list[CellRow]] = {}
    for cell in cells:
        group = tuple(cell.knobs.get(name, NO_VALUE) for name in names)
        groups.setdefault(group, []).append(cell)
    return tuple(
        _section(dict(zip(names, group, strict=True)), members, document.axes)
        for group, members in groups.items()
    )


def _section(knobs: Knobs, cells: list[CellRow], axes: Mapping[str, tuple[str, ...]]) -> Section:
    seen = [cell.knobs for cell in cells]
    panels: dict[str, dict[tuple[str, str], CellRow]] = {v: {} for v in values(axes, PANEL, seen)}
    for cell in cells:
        place = (cell.knobs.get(ROW, NO_VALUE), cell.knobs.get(COLUMN, NO_VALUE))
        panels[cell.knobs.get(PANEL, NO_VALUE)][place] = cell
    return Section(
        knobs=knobs,
        rows=tuple(values(axes, ROW, seen)),
        columns=tuple(values(axes, COLUMN, seen)),
        panels=tuple(Panel(value=v, cells=found) for v, found in panels.items()),
    )
