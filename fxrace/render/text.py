"""The short form for a terminal: the counts, the answer, the findings and how to see them again.

Everything that came from a trial passes ``words.safe`` and is handed to rich as plain text, so a
hostile message can neither move the cursor nor be taken for markup.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow, SweepDocument
from fxrace.records.tally import Tally
from fxrace.records.verdict import Verdict
from fxrace.render.view import answer, grid, pace, words
from fxrace.render.view.cases import seen

SHOWN_FINDINGS, SHOWN_BLIND = 10, 10


def render(document: SweepDocument, *, width: int = 100, colour: bool = False) -> str:
    """The summary as text, ``width`` columns wide; commands may be longer than that."""
    target = io.StringIO()
    console = Console(file=target, width=width, force_terminal=colour, highlight=False, emoji=False)
    if document.cells:
        console.print(_table(document))
    for finding in document.findings[:SHOWN_FINDINGS]:
        _finding(console, finding, seen(finding, document))
    more = len(document.findings) - SHOWN_FINDINGS
    if more > 0:
        console.print(f"... and {words.count(more, 'more finding')} in the report")
    for what, reason in document.blind[:SHOWN_BLIND]:
        _line(console, f"blind: {words.one_line(what, 60)}: {words.one_line(reason, 200)}")
    if len(document.blind) > SHOWN_BLIND:
        _line(console, f"blind: and {len(document.blind) - SHOWN_BLIND} more, see the report")
    told = answer.conclude(document)
    console.print(Text(told.headline, style="bold"))
    if told.detail:
        console.print(Text(told.detail))
    if told_of_time := pace.conclusion(document):
        console.print(Text(told_of_time))
    return target.getvalue()


def _table(document: SweepDocument) -> Table:
    sections = grid.sections(document)
    totals = [_totals(section) for section in sections]
    shown = [verdict for verdict in Verdict if any(total[verdict] for total in totals)]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in sections[0].knobs if sections else ():
        table.add_column(name, overflow="fold")
    for verdict in shown:
        table.add_column(verdict.value, justify="right", no_wrap=True)
    table.add_column("failed", justify="right", no_wrap=True)
    for section, total in zip(sections, totals, strict=True):
        numbers = (str(total[v]) if total[v] else "\u00b7" for v in shown)
        table.add_row(*section.knobs.values(), *numbers, words.rate(_failed(total)))
    return table


def _totals(section: grid.Section) -> Mapping[Verdict, int]:
    total = {verdict: 0 for verdict in Verdict}
    for cell in section.cells:
        for name, number in cell.verdicts.items():
            total[Verdict(name)] += number
    return total


def _failed(total: Mapping[Verdict, int]) -> Tally:
    conclusive = sum(n for v, n in total.items() if v.conclusive)
    return wilson(sum(n for v, n in total.items() if v.failed), conclusive)


def _finding(console: Console, finding: FindingRow, where: str) -> None:
    head = f"{finding.tier.value} {words.one_line(finding.title, 300)}"
    wrapped = textwrap.fill(head, console.width, subsequent_indent="   ")
    _line(console, f"\n{wrapped}", style="bold")
    _line(console, f"   seen in {where}, fingerprint {words.one_line(finding.fingerprint, 40)}")
    if finding.suppressed is not None:
        _line(console, f"   suppressed: {words.one_line(finding.suppressed, 200)}")
    _line(console, f"   hazard: {words.hazard(finding.hazard)}")
    if finding.replay:
        _line(console, f"   replay: {words.one_line(finding.replay, 400)}")


def _line(console: Console, text: str, *, style: str = "") -> None:
    """One logical line; never broken by us, so that a command can be copied whole."""
    console.print(Text(text, style=style), soft_wrap=True)
