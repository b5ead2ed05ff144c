"""The matrix for a terminal, then every cause with how to see it again.

Columns are numbered, since forty names do not fit across; the numbers are spelled out below.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument
from fxrace.render.view import words
from fxrace.render.view.matrix import SIGNS, Matrix, headline, matrix, told, who

STYLES = {
    "finding": "bold red",
    "safe": "green",
    "blocked": "cyan",
    "inconclusive": "yellow",
    "skipped": "dim",
}
SHOWN_CAUSES = 40


def render(document: ExploreDocument, *, width: int = 100, colour: bool = False) -> str:
    """The exploration as text, ``width`` columns wide; commands may be longer than that."""
    target = io.StringIO()
    console = Console(file=target, width=width, force_terminal=colour, highlight=False, emoji=False)
    laid = matrix(document)
    if len(document.pairs) == 1:
        pair = document.pairs[0]
        console.print(Text(f"{who(pair)}: {told(pair)}"))
    elif document.pairs:
        _matrix(console, laid, width)
    for finding in document.findings[:SHOWN_CAUSES]:
        _cause(console, finding, laid.letters[finding.fingerprint], len(document.pairs))
    more = len(document.findings) - SHOWN_CAUSES
    if more > 0:
        console.print(f"... and {words.count(more, 'more cause')} in the report")
    for what, reason in document.blind[:10]:
        _line(console, f"blind: {words.one_line(what, 60)}: {words.one_line(reason, 200)}")
    if document.interrupted:
        console.print(Text("Interrupted: this covers what ran."))
    console.print(Text(headline(document), style="bold"))
    return target.getvalue()


def _matrix(console: Console, laid: Matrix, width: int) -> None:
    """As many columns side by side as fit, the rest in further blocks."""
    margin = max(map(len, (*laid.rows, "stopped"))) + 1
    room = max(10, width - margin)
    digits = len(str(len(laid.columns)))
    for start in range(0, len(laid.columns), room):
        columns = range(start, min(start + room, len(laid.columns)))
        for digit in range(digits):
            numbers = "".join(str(n + 1).rjust(digits)[digit] for n in columns)
            head = "stopped" if digit == digits - 1 else ""
            console.print(Text(f"{head:<{margin}}{numbers}", style="dim"))
        for a in laid.rows:
            line = Text(f"{a:<{margin}}")
            for number in columns:
                cell = laid.cells.get((a, laid.columns[number]))
                line.append(cell.sign if cell else " ", STYLES[cell.style] if cell else "")
            console.print(line)
    numbered = (f"{n} {name}" for n, name in enumerate(laid.columns, start=1))
    _wrapped(console, "runs: ", tuple(numbered), width)
    _wrapped(console, "signs: ", tuple(f"{sign} {SIGNS[sign]}" for sign in laid.signs), width)


def _wrapped(console: Console, head: str, entries: Sequence[str], width: int) -> None:
    text = "  ".join(entry.replace(" ", "\u00a0") for entry in entries)
    for line in textwrap.wrap(text, width, initial_indent=head, subsequent_indent=" " * len(head)):
        console.print(Text(line.replace("\u00a0", " "), style="dim"))


def _cause(console: Console, finding: FindingRow, letter: str, pairs: int) -> None:
    head = f"{letter}  {finding.tier.value} {words.one_line(finding.title, 300)}"
    wrapped = textwrap.fill(head, console.width, subsequent_indent="   ")
    _line(console, f"\n{wrapped}", style="bold")
    hazard = finding.hazard or "uncatalogued"
    seen = f"{len(finding.trials)} of {words.count(pairs, 'pair')}"
    _line(console, f"   {hazard}, seen in {seen}, fingerprint {finding.fingerprint}")
    if finding.suppressed is not None:
        _line(console, f"   suppressed: {words.one_line(finding.suppressed, 200)}")
    for symptom in finding.symptoms[:3]:
        _line(console, f"   {words.one_line(symptom, 160)}")
    if finding.replay:
        _line(console, f"   replay: {words.one_line(finding.replay, 400)}")
    if finding.repro:
        _line(console, f"   script: {words.one_line(finding.repro, 400)}")


def _line(console: Console, text: str, *, style: str = "") -> None:
    """One logical line; never broken by us, so that a command can be copied whole."""
    console.print(Text(text, style=style), soft_wrap=True)
