"""Claims as a section for a README: one table of verdicts, then the evidence, claim by claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fxrace.records.claims import Answer, ClaimRow, ClaimsDocument, ExperimentRow, SummaryRow
from fxrace.render.claims import text
from fxrace.render.view import words

TITLE = "What the field report got right and wrong"
MARKS = {
    Answer.TRUE: "true",
    Answer.FALSE: "**false**",
    Answer.DEPENDS: "*depends*",
    Answer.INCONCLUSIVE: "open",
}


def render(document: ClaimsDocument) -> str:
    """The section, from its heading on."""
    columns = [_column(row) for row in _of(document, document.summary[:1])]
    lines = [f"## {TITLE}", ""]
    lines += _table(
        ("claim", *columns),
        (
            (f"{row.id}: {row.statement}", *(MARKS[one.verdict] for one in _of(document, (row,))))
            for row in document.summary
        ),
    )
    for row in document.summary:
        lines += ["", *_claim(row, _of(document, (row,)), columns)]
    lines += ["", *_foot(document)]
    return "\n".join(lines) + "\n"


def _claim(summary: SummaryRow, rows: Sequence[ClaimRow], columns: Sequence[str]) -> Iterator[str]:
    """The experiments of one claim, by torch; the reason is that of the last torch."""
    yield f"### {summary.id}: {summary.statement}"
    yield ""
    yield f"{summary.verdict.value}: {_cell(summary.reason)}."
    yield ""
    experiments = [
        [one for row in rows for one in row.experiments if one.id == first.id]
        for first in rows[0].experiments
    ]
    yield from _table(
        ("experiment", *columns, f"measured on {columns[-1]}"),
        ((ones[0].when, *(_answer(one) for one in ones), ones[-1].reason) for ones in experiments),
    )


def _answer(one: ExperimentRow) -> str:
    return MARKS[one.answer] if one.applies else "n/a"


def _foot(document: ClaimsDocument) -> Iterator[str]:
    yield (
        "Measured by `fxrace claims`: every measurement in a process of its own, in forced "
        f"positions where two threads take part; {text.controls(document)}."
    )


def _of(document: ClaimsDocument, summaries: Sequence[SummaryRow]) -> list[ClaimRow]:
    ids = {summary.id for summary in summaries}
    return [row for row in document.claims if row.id in ids]


def _column(row: ClaimRow) -> str:
    return f"{row.torch.partition('+')[0]} {row.device}"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, head))} |"
    yield f"|{'--|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    return words.one_line(text, 500).replace("|", "\\|")
