"""The matrix report: one HTML file that opens offline, without scripts, as that of a sweep does."""

from __future__ import annotations

from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument
from fxrace.render.view import words
from fxrace.render.view.matrix import SIGNS, headline, matrix, told, who
from fxrace.render.view.page import Cause
from fxrace.render.view.sheet import sheet
from fxrace.render.view.stacks import Room

CAUSES, STACKS = 60, 250_000


def render(document: ExploreDocument) -> str:
    """The whole page; beyond 60 causes the JSON document has the rest."""
    room = Room(STACKS)
    shown = document.findings[:CAUSES]
    return sheet(
        "matrix.html",
        document=document,
        headline=headline(document),
        matrix=matrix(document),
        causes=tuple(_cause(row, document, room) for row in shown),
        linked={row.fingerprint: number for number, row in enumerate(shown, start=1)},
        signs=SIGNS,
        shown=len(shown),
        told=told,
    )


def _cause(row: FindingRow, document: ExploreDocument, room: Room) -> Cause:
    wanted = set(row.trials)
    return Cause(
        row=row,
        stacks=tuple(room.fold(side.stack) for side in row.sides),
        seen_in=tuple(
            (who(pair), words.count(pair.differences, "difference"))
            for pair in document.pairs
            if pair.digest in wanted
        ),
    )
