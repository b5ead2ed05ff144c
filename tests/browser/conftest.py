"""A real Chromium without a network, and the reports that the browser tests look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fxrace.render import html
from fxrace.render.exploration import html as exploration
from tests.unit.render import documents, explorations, timelines
from tests.unit.render.test_exploration import hostile as hostile_exploration
from tests.unit.render.test_formats import hostile

CHROMIUM = Path("/usr/bin/chromium")
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
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> file."""
    folder = tmp_path_factory.mktemp("reports")
    sweeps = {
        "full": documents.sweep(),
        "small": documents.sweep(repeats=1),
        "empty": documents.document([]),
        "hostile": hostile(120),
        "500": documents.sweep(repeats=5),
        "10000": documents.sweep(repeats=93),
    }
    pages = {name: html.render(one, timelines.exhibits(one)) for name, one in sweeps.items()}
    pages["matrix"] = exploration.render(explorations.exploration())
    pages["matrix-empty"] = exploration.render(explorations.document(()))
    pages["matrix-hostile"] = exploration.render(hostile_exploration())
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def opened(browser: Any, reports: dict[str, Path]) -> Iterator[Opener]:
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
        address = reports[name].as_uri()
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
