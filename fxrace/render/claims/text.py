"""Claims for a terminal: per claim the verdict and why, then one line per experiment or torch.

With one torch the experiments are shown; with several, one row per torch, and the reason says what
the verdict depends on.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from rich.console import Console
from rich.text import Text

from fxrace.records.claims import Answer, ClaimRow, ClaimsDocument, ExperimentRow, SummaryRow
from fxrace.render.view import words

STYLES = {
    Answer.TRUE: "bold green",
    Answer.FALSE: "bold red",
    Answer.DEPENDS: "bold yellow",
    Answer.INCONCLUSIVE: "bold magenta",
}
WIDEST = max(len(answer.value) for answer in Answer)
MARGIN = 4


class Experimented(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def when(self) -> str: ...


class Stated(Protocol):
    """What a list of claims needs to know of one."""

    @property
    def id(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def experiments(self) -> Sequence[Experimented]: ...


def listed(claims: Iterable[Stated]) -> Iterator[str]:
    """Each claim with the conditions its experiments speak of."""
    for claim in claims:
        yield f"{claim.id}  {claim.statement}"
        yield from (f"    {one.id:<16} {one.when}" for one in claim.experiments)


def render(document: ClaimsDocument, *, width: int = 100, colour: bool = False) -> str:
    """The whole document as text, ``width`` columns wide."""
    target = io.StringIO()
    console = Console(file=target, width=width, force_terminal=colour, highlight=False, emoji=False)
    for here in document.environments:
        console.print(Text(f"torch {here.torch}, {here.implementation} {here.python}"))
    for summary in document.summary:
        rows = [row for row in document.claims if row.id == summary.id]
        _claim(console, summary, rows)
    console.print(Text(f"\n{controls(document)}"))
    for python, reason in document.problems:
        console.print(Text(f"not asked: {python}: {words.one_line(reason, 300)}"))
    if document.interrupted:
        console.print(Text("Interrupted: what was not measured is INCONCLUSIVE."))
    return target.getvalue()


def _claim(console: Console, summary: SummaryRow, rows: Sequence[ClaimRow]) -> None:
    head = Text(f"\n{summary.id}  ")
    head.append(summary.verdict.value, STYLES[summary.verdict])
    console.print(head.append(f"  {summary.statement}", "bold"), soft_wrap=True)
    _wrapped(console, summary.reason, "", MARGIN)
    if len(rows) == 1:
        for one in rows[0].experiments:
            told = f"{one.when}: {words.one_line(one.reason, 400)}"
            _wrapped(console, told, *_head(one))
        return
    for row in rows:
        _line(console, row.verdict, f"torch {row.torch} ({row.device}): {counted(row)}")
    for told in varying(rows):
        _wrapped(console, told, "varies", MARGIN + WIDEST + 2)


def varying(rows: Sequence[ClaimRow]) -> Iterator[str]:
    """The experiments that not every torch answers alike, and which torch says what."""
    for first in rows[0].experiments:
        said: dict[Answer, list[str]] = {}
        for row in rows:
            for one in row.experiments:
                if one.id == first.id:
                    said.setdefault(one.answer, []).append(row.torch.partition("+")[0])
        if len(said) > 1:
            sides = (f"{answer.value} on {', '.join(torches)}" for answer, torches in said.items())
            yield f"{first.when}: {'; '.join(sides)}"


def controls(document: ClaimsDocument) -> str:
    """In how many experiments both controls came out: the others are INCONCLUSIVE."""
    ran = [one for row in document.claims for one in row.experiments if one.controls]
    fired = sum(all(control.fired for control in one.controls) for one in ran)
    told = words.count(len(ran), "experiment")
    return f"both controls came out as they must in {fired} of {told}"


def counted(row: ClaimRow) -> str:
    """How many experiments said what; an open claim says why."""
    applying = [one for one in row.experiments if one.applies]
    counts = {answer: sum(one.answer is answer for one in applying) for answer in Answer}
    told = ", ".join(f"{number} {answer.value}" for answer, number in counts.items() if number)
    if row.verdict is Answer.INCONCLUSIVE:
        return f"{told}; {words.one_line(row.reason, 400)}"
    return f"{told} of {words.count(len(applying), 'experiment')}"


def _head(one: ExperimentRow) -> tuple[str, int, str]:
    """The answer as it stands before an experiment, the indent, the style."""
    if not one.applies:
        return "n/a", MARGIN + WIDEST + 2, "dim"
    return one.answer.value, MARGIN + WIDEST + 2, STYLES[one.answer]


def _line(console: Console, answer: Answer, told: str) -> None:
    _wrapped(console, told, answer.value, MARGIN + WIDEST + 2, STYLES[answer])


def _wrapped(console: Console, told: str, head: str, indent: int, style: str = "") -> None:
    lines = textwrap.wrap(words.safe(told, 1000), console.width - indent) or [""]
    for number, line in enumerate(lines):
        shown = Text(" " * MARGIN)
        shown.append(f"{head if not number else '':<{indent - MARGIN}}", style)
        shown.append(line)
        console.print(shown)
