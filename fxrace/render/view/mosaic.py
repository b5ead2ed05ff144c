"""Draws the board as a grid of letters for a terminal of a given width and height.

Each cell is three characters: the gravest verdict so far, and a mark: a digit for how many of
several trials failed, ``>`` while one runs. Letters carry the meaning, colours repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from fxrace.records.verdict import Verdict
from fxrace.render.view import grid, words
from fxrace.render.view.board import Board, CellState

STYLES: Mapping[Verdict, str] = {
    Verdict.CLEAN: "bold black on green",
    Verdict.RAISED: "bold black on yellow",
    Verdict.WRONG: "bold white on magenta",
    Verdict.HUNG: "bold white on blue",
    Verdict.CRASHED: "bold white on red",
    Verdict.SKIPPED: "dim",
    Verdict.BLIND: "dim",
    Verdict.BROKEN: "bold red",
}
CELL, GAP = 3, 1
Row = tuple[str, str]
Column = tuple[tuple[str, ...], str]


def mosaic(board: Board, width: int, height: int) -> Table:
    """The widest picture that fits: letters per warm-up, else counters per row."""
    cells = list(board.cells.values())
    knobs = [cell.knobs for cell in cells]
    names = grid.section_axes({}, knobs)
    placed = {(_row(c), _column(c, names)): c for c in cells}
    rows = _ordered(row for row, _ in placed)
    columns = list(dict.fromkeys(column for _, column in placed))
    columns.sort(key=lambda column: column[0])
    label = max((len(" ".join(row)) for row in rows), default=0)
    needed = label + 2 + len(columns) * (CELL + GAP) + len({c[0] for c in columns})
    if needed > width or len(rows) + 3 > height:
        return _folded(placed, rows, width, height)
    return _letters(placed, rows, columns, width - label)


def legend(board: Board) -> Text:
    """What the two letters over the columns stand for."""
    warmups = dict.fromkeys(cell.knobs.get(grid.PANEL, "") for cell in board.cells.values())
    told = ", ".join(f"{name[:2]} {name}" for name in warmups if name)
    return Text(f"{grid.PANEL}: {told}", style="dim", no_wrap=True, overflow="ellipsis")


def letter(cell: CellState | None) -> Text:
    """One place of the mosaic, three characters wide."""
    if cell is None:
        return Text(" " * CELL)
    worst = words.worst(cell.verdicts)
    if worst is None:
        return Text(" > " if cell.running else f" {words.PENDING} ", style="dim")
    mark = ">" if cell.running else (str(min(cell.failed, 9)) if cell.planned > 1 else " ")
    if cell.failed == 0 and not cell.running:
        mark = " " if cell.complete else "-"
    return Text(f" {words.LETTERS[worst]}{mark}", style=STYLES[worst])


def _letters(
    placed: Mapping[tuple[Row, Column], CellState], rows: list[Row], columns: list[Column],
    room: int,
) -> Table:  # fmt: skip
    """Headings are written out where there is room for all of them."""
    table = Table(box=None, padding=0, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    groups = list(dict.fromkeys(column[0] for column in columns))
    for _ in groups:
        table.add_column(no_wrap=True)
    members = {group: [c for c in columns if c[0] == group] for group in groups}
    whole = sum(2 + max([_width(len(members[g])), *(len(n) + 1 for n in g)]) for g in groups)
    for level in range(max((len(group) for group in groups), default=0)):
        heads = (g[level] if whole <= room else _fit(g[level], len(members[g])) for g in groups)
        table.add_row("", *(Text(f"  {head}", style="bold") for head in heads))
    warmups = [_joined(Text(f" {c[1][:2]}", style="dim") for c in members[g]) for g in groups]
    table.add_row(Text("locking checkpoint", style="dim"), *warmups)
    for row in rows:
        strips = [_joined(letter(placed.get((row, c))) for c in members[g]) for g in groups]
        table.add_row(Text(" ".join(row)), *strips)
    return table


def _joined(places: Iterable[Text]) -> Text:
    return Text.assemble("  ", *(part for place in places for part in (place, " " * GAP)))


def _width(places: int) -> int:
    return places * (CELL + GAP)


def _fit(text: str, places: int) -> str:
    width = _width(places)
    if len(text) < width:
        return text
    head = (width - 2) // 2
    return f"{text[:head]}\u2026{text[head - width + 2 :]}"


def _folded(
    placed: Mapping[tuple[Row, Column], CellState], rows: list[Row], width: int, height: int
) -> Table:
    """Verdict counts per row, as many rows as fit; the rest is in the counters below."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    shown = rows if len(rows) + 2 <= height else rows[: max(1, height - 3)]
    counts = {row: _counted(c for (r, _), c in placed.items() if r == row) for row in shown}
    present = [v for v in Verdict if any(count.get(v.value) for count in counts.values())]
    digits = len(str(max((cell.planned for cell in placed.values()), default=0) * len(placed)))
    room = max(4, width - len(present) * (digits + 1) - 2 * len("left"))
    table.add_column("locking checkpoint", no_wrap=True, overflow="ellipsis", max_width=room)
    for verdict in present:
        table.add_column(words.LETTERS[verdict], justify="right", style=STYLES[verdict])
    table.add_column("left", justify="right")
    for row in shown:
        planned = sum(c.planned for (r, _), c in placed.items() if r == row)
        left = planned - sum(counts[row].values())
        numbers = (str(counts[row].get(v.value, 0)) for v in present)
        table.add_row(" ".join(row), *numbers, str(left))
    if len(shown) < len(rows):
        table.add_row(Text(f"... {len(rows) - len(shown)} more rows", style="dim"))
    return table


def _counted(cells: Iterable[CellState]) -> dict[str, int]:
    total: dict[str, int] = {}
    for cell in cells:
        for verdict, number in cell.verdicts.items():
            total[verdict] = total.get(verdict, 0) + number
    return total


def _ordered(rows: Iterable[Row]) -> list[Row]:
    """Rows of one locking strategy together, both parts in the order in which they were planned."""
    distinct = list(dict.fromkeys(rows))
    locking = list(dict.fromkeys(row[0] for row in distinct))
    checkpoint = list(dict.fromkeys(row[1] for row in distinct))
    return sorted(distinct, key=lambda row: (locking.index(row[0]), checkpoint.index(row[1])))


def _row(cell: CellState) -> Row:
    return cell.knobs.get(grid.ROW, grid.NO_VALUE), cell.knobs.get(grid.COLUMN, grid.NO_VALUE)


def _column(cell: CellState, names: tuple[str, ...]) -> Column:
    group = tuple(cell.knobs.get(name, grid.NO_VALUE) for name in names)
    return group, cell.knobs.get(grid.PANEL, grid.NO_VALUE)
