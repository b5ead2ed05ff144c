"""The catalogue as a list for a terminal, without what draws tables: it should come at once."""

from __future__ import annotations

from collections.abc import Sequence

from fxrace.records.hazard import Hazard, Problem

HEADINGS = ("hazard", "layer", "shows as", "device", "torch", "what it is")


def listing(hazards: Sequence[Hazard], problems: Sequence[Problem] = ()) -> str:
    """One line per hazard in columns, one per file that declares none, and how many."""
    rows = [HEADINGS, *map(_cells, hazards)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
    lines += [f"no hazard: {one.slug}: {_one_line(one.reason)}" for one in problems]
    return "\n".join([*lines, f"{len(hazards)} hazards"])


def _cells(hazard: Hazard) -> tuple[str, ...]:
    shows = f"{hazard.racy.value}{', silent' if hazard.silent else ''}"
    span = f"{hazard.since} to {hazard.fixed_in or 'now'}"
    return (
        hazard.slug, hazard.layer.value, shows, hazard.device, span, _one_line(hazard.title)
    )  # fmt: skip


def _one_line(text: str) -> str:
    return " ".join(text.split())
