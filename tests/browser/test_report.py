"""The report in a real browser, offline: no error, no overflow, usable from the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fxrace.render import html
from tests.unit.render import documents
from tests.unit.render.test_formats import hostile

CHROMIUM = Path("/usr/bin/chromium")
WIDTHS = (1280, 420)
SECTIONS = ("verdicts", "choices", "map", "findings", "failing", "hung", "trials",
            "environment", "blind")  # fmt: skip

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs {CHROMIUM}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "full": documents.sweep(),
        "empty": documents.document([]),
        "hostile": hostile(120),
    }
    for name, document in made.items():
        (folder / f"{name}.html").write_text(html.render(document), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in made}


def opened(
    browser: Any, address: str, *, width: int, scheme: str = "light"
) -> tuple[Any, list[str]]:
    """The page, and everything the console or the network complained about."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda r: None if r.url in {address, "data:,"} else said.append(r.url))
    page.context.set_offline(True)
    page.goto(address)
    return page, said


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["full", "empty", "hostile"])
def test_it_opens_quietly_and_fits(
    browser: Any, reports: dict[str, str], name: str, width: int
) -> None:
    page, said = opened(browser, reports[name], width=width)
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for section in SECTIONS:
        assert page.locator(f"section#{section} h2").is_visible()
    assert page.locator("#answer").inner_text().strip()
    page.close()


def test_the_style_sheet_is_applied_despite_the_policy(
    browser: Any, reports: dict[str, str]
) -> None:
    page, _ = opened(browser, reports["full"], width=1280)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.close()
    page, _ = opened(browser, reports["full"], width=1280, scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.close()
    assert len({light, dark, "rgba(0, 0, 0, 0)"}) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_can_be_told_from_their_ground(
    browser: Any, reports: dict[str, str], scheme: str
) -> None:
    page, _ = opened(browser, reports["full"], width=1280, scheme=scheme)
    ratios = page.evaluate(CONTRAST)
    page.close()
    assert len(ratios) > 100
    assert min(ratios) >= 4.5


def test_a_cell_leads_to_its_trials_by_keyboard(browser: Any, reports: dict[str, str]) -> None:
    page, _ = opened(browser, reports["full"], width=1280)
    cell = page.locator("td.cell a").first
    target = cell.get_attribute("href")
    cell.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == target
    page.locator(f"{target} summary").focus()
    if not page.evaluate("h => document.querySelector(h).open", target):
        page.keyboard.press("Enter")
    assert page.locator(f"{target} table").is_visible()
    page.close()


def test_every_table_and_section_has_a_name(browser: Any, reports: dict[str, str]) -> None:
    page, _ = opened(browser, reports["full"], width=1280)
    assert page.locator("main > section:not([aria-labelledby])").count() == 0
    assert page.locator(".panel table:not([aria-label])").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    page.close()


#: WCAG contrast of the letter in each mark that has a ground of its own.
CONTRAST = """() => {
  const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] };
  return [...document.querySelectorAll('.mark')].map(m => getComputedStyle(m))
    .filter(s => s.backgroundColor !== 'rgba(0, 0, 0, 0)')
    .map(s => [light(s.color), light(s.backgroundColor)].sort((a, b) => b - a))
    .map(([a, b]) => (a + 0.05) / (b + 0.05)) }"""
