"""The report of a sweep as one HTML file. The template only places what ``view.page`` decided."""

from __future__ import annotations

from fxrace.records.document import SweepDocument
from fxrace.records.page import Exhibits
from fxrace.render.view.page import page
from fxrace.render.view.page_data import embedded
from fxrace.render.view.sheet import Scripts, sheet

SCRIPTS = Scripts(
    library="echarts",
    files=(
        "dom", "figures", "tables", "data", "heatmap", "trials", "chart", "front", "timeline",
        "timeline_draw", "trial", "route",
    ),
)  # fmt: skip


def render(document: SweepDocument, exhibits: Exhibits | None = None) -> str:
    """The whole page. At most about 2 MB for 500 trials, whatever their messages hold.

    Without exhibits it lacks timelines, scripts and the catalogue, and says so.
    """
    shown = page(document, exhibits or Exhibits())
    return sheet("report.html", SCRIPTS, document=document, page=shown, data=embedded(shown.data))
