"""A real Chromium without a network, and the reports that the browser tests look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fxrace.records.document import SweepDocument
from fxrace.render import html
from fxrace.render.exploration import html as exploration
from tests.unit.render import documents, explorations, timelines
from tests.unit.render.test_exploration import hostile as hostile_exploration
from tests.unit.render.test_formats import hostile

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


@dataclass
class Opened:
    """A page, and everything its console or the network complained about."""

    page: Any
    said: list[str] = field(default_factory=list)


Opener = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}")
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield opened
        opened.close()


def sweep(document: SweepDocument) -> str:
    return html.render(document, timelines.exhibits(document))


MADE: Mapping[str, Callable[[], str]] = {
    "full": lambda: sweep(documents.sweep()),
    "small": lambda: sweep(documents.sweep(repeats=1)),
    "empty": lambda: sweep(documents.document([])),
    "hostile": lambda: sweep(hostile(120)),
    "500": lambda: sweep(documents.sweep(repeats=5)),
    "10000": lambda: sweep(documents.sweep(repeats=93)),
    "matrix": lambda: exploration.render(explorations.exploration()),
    "matrix-empty": lambda: exploration.render(explorations.document(())),
    "matrix-hostile": lambda: exploration.render(hostile_exploration()),
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name -> file, made when it is asked for: several workers share these tests."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def made(name: str) -> Path:
        path = folder / f"{name}.html"
        path.write_text(MADE[name](), encoding="utf-8")
        return path

    return made


@pytest.fixture
def opened(browser: Any, report: Callable[[str], Path]) -> Iterator[Opener]:
    """``opened("full", width=420, scheme="dark", fragment="#map")``, with the network off."""
    contexts = []

    def open_(name: str, *, width: int = 1280, scheme: str = "light", fragment: str = "") -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        found = Opened(page=context.new_page())
        found.page.set_default_timeout(15_000)
        address = report(name).as_uri()
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))
        found.page.on(
            "request",
            lambda r: (
                None if r.url.split("#")[0] in {address, "data:,"} else found.said.append(r.url)
            ),
        )
        found.page.goto(address + fragment)
        return found

    yield open_
    for context in contexts:
        context.close()
