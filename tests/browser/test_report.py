"""The reports in a real browser, offline: quiet, fitting, fast, readable by all.

Waits are ``expect``'s: the page's policy forbids what ``wait_for_function`` evaluates anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fxrace.render.view.page_data import cell_id
from tests.browser.conftest import AXE, Opener
from tests.unit.render import documents

pytestmark = pytest.mark.slow
expect = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python").expect
WIDTHS = (1280, 420)
SWEEP = documents.sweep()
SECTIONS = {
    "sweep": ("verdicts", "map", "front", "pace", "findings", "trials", "hung", "choices",
              "hazards", "environment", "blind"),
    "matrix": ("matrix", "findings", "pairs", "operations", "hazards", "environment", "blind"),
}  # fmt: skip
SWEEPS, MATRICES = ("small", "empty", "hostile"), ("matrix", "matrix-empty", "matrix-hostile")
#: Of the main thread's own time: a busy machine makes nothing here red.
INTERACTIVE_S = {"500": 1.0, "10000": 1.5}
SIZES = {"500": 2_000_000, "10000": 2_500_000}


@pytest.mark.parametrize("name", SWEEPS + MATRICES)
def test_it_opens_quietly_and_fits(opened: Opener, name: str) -> None:
    found = opened(name)
    page = found.page
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    kind = "sweep" if name in SWEEPS else "matrix"
    for section in SECTIONS[kind]:
        heading = page.locator(f"section#{section} > h2")
        heading.scroll_into_view_if_needed()
        assert heading.is_visible()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#answer").inner_text().strip()
    assert page.evaluate("document.documentElement.dataset.ready")
    assert found.said == []


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("small", "light"), ("small", "dark"), ("empty", "light"), ("matrix", "dark")],
)
def test_axe_finds_nothing(opened: Opener, name: str, scheme: str) -> None:
    page = opened(name, scheme=scheme).page
    if name == "small":
        page.locator("#trial-table tbody a").first.click()
        page.locator(".timeline canvas").wait_for()
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.evaluate(AXE.read_text())
    # What dark changes is the colours; the rest was looked at in light.
    rules = {"runOnly": ["color-contrast"]} if (name, scheme) == ("small", "dark") else {}
    options = {"resultTypes": ["violations"], **rules}
    violations = page.evaluate("options => axe.run(document, options)", options)["violations"]
    told = [(v["id"], [n["target"] for n in v["nodes"]][:3], v["help"]) for v in violations]
    assert told == []


@pytest.mark.parametrize("name", INTERACTIVE_S)
def test_it_is_interactive_at_once(browser: Any, report: Callable[[str], Path], name: str) -> None:
    size = report(name).stat().st_size
    assert size <= SIZES[name]
    context = browser.new_context(offline=True)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(report(name).as_uri(), wait_until="commit")
    page.locator("html[data-ready]").wait_for(state="attached")
    figures = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    assert 0 < figures["TaskDuration"] <= INTERACTIVE_S[name]


def test_from_a_cell_to_the_replay_command(opened: Opener) -> None:
    found = opened("full")
    page = found.page
    cell = page.locator("td.cell.v-raised a").first
    wanted = cell.inner_text()
    cell.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "h-trials"
    assert page.url.rpartition("#")[2].startswith("cell-")
    rows = page.locator("#trial-table tbody tr")
    assert f"of {rows.count()}" in wanted.replace("\n", " ")
    page.locator("#trial-table tbody tr", has_text="RAISED").locator("a").first.click()
    assert "#trial-" in page.url
    page.locator("#trial-panel a[href^='#finding-']").first.click()
    card = page.locator(f"[id='{page.url.rpartition('#')[2]}']")
    command = card.locator("code.command").inner_text()
    assert command.startswith("fxrace replay ")
    card.locator(".paste button.copy").first.click()
    expect(page.locator("#announcer")).to_have_text("copied")
    assert page.evaluate("navigator.clipboard.readText()") == command
    assert found.said == []


def test_the_copied_issue_has_the_script_in_its_place(opened: Opener) -> None:
    page = opened("full").page
    card = page.locator("article.finding").first
    card.scroll_into_view_if_needed()
    card.get_by_text("issue text for upstream").click()
    card.get_by_role("button", name="copy the issue text").click()
    expect(page.locator("#announcer")).to_have_text("copied")
    text = page.evaluate("navigator.clipboard.readText()")
    assert "```python\nimport torch\n\nprint('</pre>')\n```" in text.replace("\r\n", "\n")
    assert "## Environment" in text


def test_a_filter_leaves_what_it_names(opened: Opener) -> None:
    page = opened("full").page
    total = int(page.locator("#trial-count").inner_text().split()[0])
    assert total == len(SWEEP.trials)
    for box in page.locator("#trial-filter input[type=checkbox]").all():
        if box.input_value() != "HUNG":
            box.uncheck()
    hung = sum(trial.verdict.value == "HUNG" for trial in SWEEP.trials)
    assert page.locator("#trial-table tbody tr").count() == hung
    page.locator("#trial-search").fill("reentrant pressure=hold")
    shown = page.locator("#trial-table tbody tr").all_inner_texts()
    assert 0 < len(shown) < hung
    assert all("reentrant" in row and "hold" in row for row in shown)
    page.locator("#trial-search").fill("nothing has these words")
    assert page.locator("#trial-table tbody tr").count() == 0


def test_a_heading_sorts_and_says_so(opened: Opener) -> None:
    page = opened("full").page
    page.get_by_role("button", name="took").click()
    head = page.locator("th[data-column=duration]")
    assert head.get_attribute("aria-sort") == "ascending"
    took = page.locator("#trial-table tbody tr td:nth-last-child(3)").all_inner_texts()
    values = [float(text.split()[0]) for text in took]
    assert values == sorted(values)
    page.get_by_role("button", name="took").click()
    assert head.get_attribute("aria-sort") == "descending"


def test_the_time_of_drafters_sorts_and_scrolls_by_itself(opened: Opener) -> None:
    page = opened("full", width=420).page
    waits = (
        "[...document.querySelectorAll('#pace-table tbody tr')].map(r => +r.cells[4].dataset.value)"
    )
    page.locator("#pace-table").get_by_role("button", name="waits for features").click()
    values = page.evaluate(waits)
    assert values == sorted(values) and len(set(values)) > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    box = "document.querySelector('#pace-table').parentElement"
    assert page.evaluate(f"{box}.scrollWidth > {box}.clientWidth")
    page.locator("#pace-table tbody a").first.click()
    assert "#trial-" in page.url
    assert page.locator("#trial-panel a, #trial-panel code").first.is_visible()


def test_any_two_axes_make_the_map(opened: Opener) -> None:
    page = opened("full").page
    cells = page.evaluate("document.querySelectorAll('#map-panels td.cell').length")
    page.locator("#map-rows").select_option("attention")
    page.locator("#map-columns").select_option("pressure")
    table = page.locator("#map-panels table").first
    assert table.locator("tbody th").all_inner_texts() == list(documents.AXES["attention"])
    assert table.locator("thead th").all_inner_texts()[1:] == list(documents.AXES["pressure"])
    page.locator("fieldset", has_text="locking").get_by_label("whole_step").check()
    shown = page.locator("#map-panels td.cell a")
    assert 0 < shown.count() < cells
    marks = page.locator("#map-panels .mark").all_inner_texts()
    assert set(marks) == {"C"}


def test_every_kind_of_fragment_leads_somewhere(opened: Opener) -> None:
    found = opened("full")
    page = found.page
    trial = next(t for t in SWEEP.trials if t.stacks)
    cell = page.locator("td.cell a").nth(7).get_attribute("href")
    config = page.locator("#front-table a").first.get_attribute("href")
    finding = page.locator("ol.index a").first.get_attribute("href")
    for fragment, focus in (
        (cell, "h-trials"),
        (config, "h-trials"),
        (f"#trials-of-{finding[1:]}", "h-trials"),
        (finding, f"{finding[1:]}-title"),
        (f"#trial-{trial.digest}", "trial-title"),
        (f"#hung-{trial.digest}", f"hung-{trial.digest}"),
        ("#hazard-fx-flag-crash", "hazard-fx-flag-crash"),
        ("#map", "h-map"),
    ):
        page.evaluate("document.activeElement.blur()")
        page.evaluate("fragment => { location.hash = fragment }", fragment)
        expect(page.locator(f"[id='{focus}']")).to_be_focused()
    page.evaluate("location.hash = 'trial-of-another-report'")
    expect(page.locator("#announcer")).to_contain_text("nothing")
    assert found.said == []


@pytest.mark.parametrize("kind", ["cell", "trial", "finding"])
def test_a_link_opens_where_it_points(opened: Opener, kind: str) -> None:
    row = next(t for t in SWEEP.trials if t.verdict.value == "RAISED")
    fragments = {
        "cell": (f"#cell-{cell_id(row.knobs)}", "h-trials"),
        "trial": (f"#trial-{row.digest}", "trial-title"),
        "finding": (f"#finding-{row.findings[0]}", f"finding-{row.findings[0]}-title"),
    }
    fragment, focus = fragments[kind]
    page = opened("full", fragment=fragment).page
    expect(page.locator(f"[id='{focus}']")).to_be_focused()
    if kind == "cell":
        assert page.locator("#trial-table tbody tr").count() == 3


def test_a_hang_is_drawn_and_each_wait_has_its_stack(opened: Opener) -> None:
    trial = next(t for t in SWEEP.trials if t.stacks)
    page = opened("full", fragment=f"#hung-{trial.digest}").page
    box = page.locator(f"[id='hung-{trial.digest}']")
    assert box.locator("svg.ring .r-node").count() == 3
    assert box.locator("svg.ring .r-edge").count() == 3
    edges = box.locator(".waits > ol > li")
    assert edges.count() == 3
    edges.last.locator("summary").first.click()
    assert "Reentrant.chunk" in edges.last.inner_text()


@pytest.mark.parametrize("name", ["full", "matrix"])
def test_light_and_dark_follow_the_system_and_the_button(opened: Opener, name: str) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(name, scheme=s).page for s in ("light", "dark"))
    assert light.evaluate(ground) != dark.evaluate(ground)
    wanted = dark.evaluate(ground)
    light.locator("#theme").click()
    assert light.evaluate(ground) == wanted
    assert light.locator("#theme").inner_text() == "light"


def test_the_matrix_is_filtered_sorted_and_walked(opened: Opener) -> None:
    found = opened("matrix")
    page = found.page
    visible = "[...document.querySelectorAll('#matrix-table tbody tr')].filter(r => !r.hidden)"
    names = f"{visible}.map(r => r.cells[0].textContent)"
    every = page.evaluate(names)
    page.locator("#matrix-filter").fill("make")
    assert page.evaluate(names) == ["make_fx"]
    page.locator("#matrix-filter").fill("")
    page.locator("#matrix-only").check()
    hits = f"{visible}.map(r => r.querySelectorAll('.m-finding').length)"
    assert all(page.evaluate(hits))
    page.locator("#matrix-only").uncheck()
    page.locator("#matrix-order").select_option("causes")
    assert page.evaluate(hits) == sorted(page.evaluate(hits), reverse=True)
    page.locator("#matrix-order").select_option("")
    assert page.evaluate(names) == every
    first = page.locator("#matrix-table tbody tr").first.locator("a")
    first.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('href')") == first.nth(
        1
    ).get_attribute("href")
    page.keyboard.press("Enter")
    assert re.search(r"#pair-[0-9a-f]+$", page.url)
    assert found.said == []


def test_tables_of_the_page_filter_and_sort(opened: Opener) -> None:
    page = opened("matrix").page
    rows = "[...document.querySelectorAll('#pair-table tbody tr')].filter(r => !r.hidden)"
    total = page.evaluate(f"{rows}.length")
    page.locator("[data-filters=pair-table]").fill("export autocast")
    assert page.evaluate(f"{rows}.length") == 1
    assert page.locator("[data-counts=pair-table]").inner_text() == f"1 of {total}"
    page.locator("[data-filters=pair-table]").fill("")
    page.locator("#pair-table").get_by_role("button", name="stopped").click()
    stopped = page.evaluate(f"{rows}.map(r => r.cells[1].textContent)")
    assert stopped == sorted(stopped)


def test_without_scripts_the_answer_and_the_findings_are_there(
    browser: Any, report: Callable[[str], Path]
) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report("full").as_uri())
    assert page.locator("#answer").inner_text()
    assert page.locator("article.finding h3").first.is_visible()
    assert page.locator("noscript p").first.is_visible()
    assert not page.locator("button.copy").first.is_visible()
    context.close()
