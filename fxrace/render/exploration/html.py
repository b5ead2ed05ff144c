"""The matrix report: one HTML file that opens offline, as that of a sweep does."""

from __future__ import annotations

from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument
from fxrace.records.page import Exhibits
from fxrace.render.view import words
from fxrace.render.view.cards import Cards, anchors
from fxrace.render.view.matrix import SIGNS, headline, matrix, told, who
from fxrace.render.view.sheet import Scripts, sheet
from fxrace.render.view.stacks import Room
from fxrace.render.view.versions import versions

CAUSES, STACKS = 60, 250_000
SCRIPTS = Scripts(files=("dom", "tables", "matrix"))


def render(document: ExploreDocument, exhibits: Exhibits | None = None) -> str:
    """The whole page; beyond 60 causes the JSON document has the rest."""
    exhibits = exhibits or Exhibits()
    shown = document.findings[:CAUSES]
    maker, linked = Cards(exhibits, document.environment, Room(STACKS)), anchors(shown)
    return sheet(
        "matrix.html",
        SCRIPTS,
        document=document,
        headline=headline(document),
        matrix=matrix(document),
        causes=[maker.card(row, _pairs(row, document), linked[row.fingerprint]) for row in shown],
        linked=linked,
        signs=SIGNS,
        shown=len(shown),
        told=told,
        versions=versions(exhibits.hazards, document.findings),
    )


def _pairs(row: FindingRow, document: ExploreDocument) -> tuple[tuple[str, str], ...]:
    wanted = set(row.trials)
    return tuple(
        (who(pair), words.count(pair.differences, "difference"))
        for pair in document.pairs
        if pair.digest in wanted
    )
