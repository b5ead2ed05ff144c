"""Makes docs/screenshots from a real sweep and a real matrix, in a headless Chromium.

Without arguments it runs both first (some minutes; what a run before has measured is not measured
again). With two arguments, the page of a sweep and that of an exploration, it only draws them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "screenshots"
#: Relative, since the commands in the pictures name it.
OUTPUT = Path("fxrace-out") / "screenshots"
CHROMIUM = "/usr/bin/chromium"
MOST_BYTES, WIDE, HIGH = 300_000, 1180, 1400
SWEEP = (
    "sweep", "--gpus", "4", "--steps", "2",
    "--axis", "locking=none,exec_lock,every_call,whole_step",
    "--axis", "checkpoint=off,reentrant,nonreentrant",
    "--axis", "warmup=none,main_thread",
    "--axis", "attention=flex_eager,flex",
    "--axis", "pressure=none,hold",
)  # fmt: skip
EXPLORE = ("explore", "--quick", "--no-scripts")


def main(words: list[str]) -> int:
    """Write the pictures; 1 when one is too large for a repository."""
    pages = [Path(word).absolute() for word in words] or measured()
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, scheme, page, draw in VIEWS:
            opened = browser.new_page(viewport={"width": WIDE, "height": HIGH}, color_scheme=scheme)
            opened.goto(pages[page].as_uri())
            draw(opened, TARGET / f"{name}.png")
            opened.close()
        browser.close()
    large = [path for path in TARGET.glob("*.png") if path.stat().st_size > MOST_BYTES]
    for path in large:
        print(f"{path} has more than {MOST_BYTES:,} bytes", file=sys.stderr)
    return 1 if large else 0


def measured() -> list[Path]:
    """Run the sweep and the exploration, and say where their pages lie."""
    for words in (SWEEP, EXPLORE):
        subprocess.run(
            [sys.executable, "-m", "fxrace", *words, "--output", str(OUTPUT)], cwd=ROOT, check=True
        )
    return [ROOT / OUTPUT / name for name in ("report.html", "explore.html")]


def overview(page: Any, path: Path) -> None:
    """The answer, the counts, the map."""
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": WIDE, "height": 1180})


def front(page: Any, path: Path) -> None:
    """Safety against speed."""
    page.locator("#front-chart").scroll_into_view_if_needed()
    page.locator("#front-chart canvas").wait_for()
    shot(page, "#front", path, 620)


def finding(page: Any, path: Path) -> None:
    """The gravest finding, down to the order of events."""
    card = page.locator("article.finding").first
    card.scroll_into_view_if_needed()
    bottom = card.locator("ol.lanes").first
    height = bottom.bounding_box()["y"] + bottom.bounding_box()["height"]
    shot(page, "article.finding", path, height - card.bounding_box()["y"])


def timeline(page: Any, path: Path) -> None:
    """A trial that raised, with its timeline."""
    page.locator("#trial-table tbody tr", has_text="RAISED").locator("a").first.click()
    page.locator(".timeline canvas").wait_for()
    shot(page, "#trial-panel", path, 1000)


def matrix(page: Any, path: Path) -> None:
    """Every ordered pair of operations."""
    shot(page, "#matrix-table", path, HIGH)


def shot(page: Any, selector: str, path: Path, height: float) -> None:
    """The upper part of an element, at its own width."""
    element = page.locator(selector).first
    element.evaluate("element => element.scrollIntoView({block: 'start', behavior: 'instant'})")
    # Two frames: what came into view is laid out in the first and painted in the second.
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    box = element.bounding_box()
    clip = {
        "x": max(box["x"] - 12, 0),
        "y": max(box["y"] - 8, 0),
        "width": min(box["width"] + 24, WIDE),
        "height": min(height, box["height"]) + 16,
    }
    page.screenshot(path=path, clip=clip)


VIEWS = (
    ("overview", "light", 0, overview),
    ("front", "dark", 0, front),
    ("finding", "light", 0, finding),
    ("timeline", "dark", 0, timeline),
    ("matrix", "light", 1, matrix),
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
