"""The catalogue and its results: a list, a table, a matrix of hazards by torch, in two forms.

What a script printed is hostile text like any other and passes ``words``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fxrace.records.repro import Judgement, ReproDocument, ReproRow, TwinRow
from fxrace.render.view import words
from fxrace.render.view.hazards import listing

WIDTH = 120
WORDS: Mapping[Judgement, str] = {
    Judgement.REPRODUCED: "reproduced",
    Judgement.NOT_REPRODUCED: "NOT reproduced",
    Judgement.NOT_APPLICABLE: "not applicable",
    Judgement.BROKEN: "BROKEN",
}


def text(document: ReproDocument, *, width: int = WIDTH) -> str:
    """For a terminal: the list when nothing ran, else the table or matrix and what is not as
    declared.
    """
    target = io.StringIO()
    console = Console(file=target, width=width, highlight=False, emoji=False)
    torches = _torches(document.results)
    if not document.results:
        console.print(Text(listing(document.hazards)), soft_wrap=True)
    elif len(torches) == 1:
        console.print(_table(document.results))
    else:
        console.print(_matrix(document.results, torches))
    for row in document.results:
        if row.judgement in (Judgement.NOT_REPRODUCED, Judgement.BROKEN):
            console.print(Text(progress(row)), soft_wrap=True)
    for slug, reason in document.problems.items():
        told = f"no hazard: {slug}: {words.one_line(reason, 300)}"
        console.print(Text(told), soft_wrap=True)
    if document.results:
        console.print(Text(_summary(document), style="bold"))
    return target.getvalue().rstrip("\n")


def markdown(document: ReproDocument) -> str:
    """The matrix for an issue or a page: one row per hazard, one column per torch."""
    torches = _torches(document.results)
    lines = ["| hazard | layer | " + " | ".join(torches.values()) + " |"]
    lines.append("|" + "---|" * (2 + len(torches)))
    layers = {hazard.slug: hazard.layer.value for hazard in document.hazards}
    for slug, cells in _by_slug(document.results).items():
        shown = (_cell(cells.get(python)) for python in torches)
        lines.append(f"| {slug} | {layers.get(slug, '')} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", _summary(document), ""])


def progress(row: ReproRow, done: int = 0, total: int = 0) -> str:
    """One line on one hazard on one torch."""
    place = f"[{done}/{total}] " if total else ""
    twins = f"racy {_twin(row.racy)}, guarded {_twin(row.guarded)}"
    told = f"{WORDS[row.judgement]}: {row.slug}, torch {row.torch}: {twins}"
    return f"fxrace: {place}{told}: {words.one_line(row.reason, 240)}"


def _table(rows: Sequence[ReproRow]) -> Table:
    table = _empty("hazard", "racy", "guarded", "judgement", "why")
    for row in rows:
        why = Text(words.one_line(row.reason, 160))
        table.add_row(row.slug, _twin(row.racy), _twin(row.guarded), WORDS[row.judgement], why)
    return table


def _matrix(rows: Sequence[ReproRow], torches: Mapping[str, str]) -> Table:
    table = _empty("hazard", *torches.values())
    for slug, cells in _by_slug(rows).items():
        table.add_row(slug, *(_cell(cells.get(python)) for python in torches))
    return table


def _empty(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name == "hazard")
    return table


def _torches(rows: Sequence[ReproRow]) -> dict[str, str]:
    """Interpreter to heading; two of one version are told apart by their paths."""
    versions = {row.python: row.torch for row in rows}
    twice = {v for v in versions.values() if list(versions.values()).count(v) > 1}
    return {p: f"{v} ({p})" if v in twice else v for p, v in versions.items()}


def _by_slug(rows: Sequence[ReproRow]) -> dict[str, dict[str, ReproRow]]:
    found: dict[str, dict[str, ReproRow]] = {}
    for row in rows:
        found.setdefault(row.slug, {})[row.python] = row
    return found


def _cell(row: ReproRow | None) -> str:
    """``RAISED 5 of 5``, or why not, in a word or two."""
    if row is None:
        return "not run"
    if row.judgement is Judgement.REPRODUCED:
        return _twin(row.racy)
    return WORDS[row.judgement] if row.racy.verdict is None else _absent(row)


def _absent(row: ReproRow) -> str:
    if row.judgement is Judgement.NOT_APPLICABLE:
        return row.reason.partition(":")[0].partition(",")[0]
    return WORDS[row.judgement]


def _twin(row: TwinRow) -> str:
    return "not run" if row.verdict is None else f"{row.verdict.value} {row.k} of {row.n}"


def _summary(document: ReproDocument) -> str:
    counted = ", ".join(_counts(document.results))
    return f"{counted}{'; interrupted' if document.interrupted else ''}"


def _counts(rows: Sequence[ReproRow]) -> Iterator[str]:
    for judgement in Judgement:
        if number := sum(row.judgement is judgement for row in rows):
            yield f"{number} of {len(rows)} {WORDS[judgement]}"
