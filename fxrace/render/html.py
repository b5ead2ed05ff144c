"""The report of a sweep as one HTML file. The template only places what ``view.page`` decided."""

from __future__ import annotations

from fxrace.records.document import SweepDocument
from fxrace.render.view import grid
from fxrace.render.view.page import page
from fxrace.render.view.sheet import sheet


def render(document: SweepDocument) -> str:
    """The whole page. At most about 2 MB for 500 trials, whatever their messages hold."""
    return sheet(
        "report.html",
        document=document,
        page=page(document),
        key=grid.key,
        row_axis=grid.ROW,
        column_axis=grid.COLUMN,
        panel_axis=grid.PANEL,
    )
