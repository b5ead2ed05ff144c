"""The timeline of a trial in a real browser: zoomed, searched, read as a table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Opener
from tests.unit.render import documents

pytestmark = pytest.mark.slow
SWEEP = documents.sweep()


@pytest.mark.parametrize("way", ["keyboard", "buttons"])
def test_the_timeline_zooms_and_goes_back(opened: Opener, way: str) -> None:
    trial = next(t for t in SWEEP.trials if t.verdict.value == "RAISED")
    found = opened("full", fragment=f"#trial-{trial.digest}")
    page = found.page
    chart = page.locator(".timeline")
    chart.scroll_into_view_if_needed()
    page.locator(".timeline canvas").wait_for()
    assert window(chart) == (0.0, 3.0)
    acts = {
        "keyboard": {key: (lambda key=key: page.keyboard.press(key)) for key in "+0c"},
        "buttons": {
            "+": page.get_by_role("button", name="zoom in").click,
            "0": page.get_by_role("button", name="whole").click,
            "c": page.get_by_role("button", name="collision").click,
        },
    }[way]
    chart.focus()
    acts["+"]()
    assert window(chart) == (0.75, 2.25)
    acts["0"]()
    assert window(chart) == (0.0, 3.0)
    acts["c"]()
    begin, end = window(chart)
    assert 0 < begin < 1.4 < end < 3
    assert found.said == []


def window(chart: Any) -> tuple[float, float]:
    return float(chart.get_attribute("data-from")), float(chart.get_attribute("data-to"))


def test_the_timeline_is_searched_and_read_as_a_table(opened: Opener) -> None:
    trial = next(t for t in SWEEP.trials if t.verdict.value == "RAISED")
    page = opened("full", fragment=f"#trial-{trial.digest}").page
    page.locator("#timeline-search").fill("drafter-1 trace")
    page.keyboard.press("Enter")
    begin, end = window(page.locator(".timeline"))
    assert 0 < begin < 1.4 < 1.9 < end < 3
    page.get_by_text("the same as a table").click()
    rows = page.locator("#trial-panel tbody tr").all_inner_texts()
    assert [row.split("\t")[:2] for row in rows] == [["drafter-1", "trace"]]
