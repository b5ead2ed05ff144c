"""One HTML file from a template: offline, with its style sheet, scripts and data inside.

The surprise: the page forbids itself everything but its own style sheet and scripts (by hash), so
text from a trial could not run or load anything even if it got past the escaping; bars are
therefore SVG attributes, never inline styles.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fxrace.records.tally import Tally
from fxrace.records.verdict import Verdict
from fxrace.render.view import ring, words
from fxrace.render.view.cases import seen
from fxrace.render.view.stacks import shown_path

ROOM = Path(__file__).parent.parent
TEMPLATES, PAGE, VENDOR = ROOM / "templates", ROOM / "page", ROOM / "vendor"
NOTICES = {"echarts": "Apache ECharts 6.1.0, Apache-2.0, The Apache Software Foundation"}
STYLES = ("base", "parts", "views")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scripts:
    """What a page runs: a vendored library or none, and files of ``page`` in their order."""

    files: tuple[str, ...]
    library: str = ""

    def texts(self) -> tuple[str, ...]:
        """The scripts as they stand in the page. The files share one scope, and no other."""
        parts = ((PAGE / f"{name}.js").read_text(encoding="utf-8") for name in self.files)
        own = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
        if not self.library:
            return (own,)
        path = VENDOR / self.library / f"{self.library}.min.js"
        notice = f"/*! {NOTICES[self.library]} */\n"
        return notice + path.read_text(encoding="utf-8"), own


def sheet(template: str, scripts: Scripts, *, data: str = "{}", **values: Any) -> str:
    """``template`` filled with ``values``; ``data`` is JSON that may stand in a script element.
    Safe to encode as UTF-8.
    """
    style = "".join((TEMPLATES / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    texts = scripts.texts()
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(map(_hash, texts)),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    text = (
        _templates()
        .get_template(template)
        .render(
            style=Markup(style),
            policy=_told(policy),
            scripts=tuple(map(Markup, texts)),
            data=Markup(data),
            **values,
        )
    )
    return text.encode("utf-8", "backslashreplace").decode()


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _told(policy: Mapping[str, str]) -> Markup:
    return Markup("; ".join(f"{name} {value}" for name, value in policy.items()))


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        line=words.one_line,
        text=words.safe,
        name=_name,
        figure=words.figure,
        rate=words.rate,
        interval=words.interval,
        seconds=words.seconds,
        size=words.size,
        ms=words.milliseconds,
        percent=words.percent,
        gauge=_gauge,
        path=shown_path,
        bar=_bar,
        whisker=_whisker,
    )
    found.globals.update(
        letters=words.LETTERS,
        meanings=words.MEANINGS,
        tiers=words.TIERS,
        count=words.count,
        ring=ring.drawn,
        seen=seen,
    )
    return found


def _name(text: str) -> Markup:
    """A part's name that may break after an underscore, and nowhere else if it fits."""
    return Markup("_<wbr>").join(words.one_line(text, 60).split("_"))


def _bar(verdicts: dict[str, int]) -> Markup:
    """Shares of the verdicts as a strip; decoration, the numbers stand beside it."""
    total = sum(verdicts.values())
    parts, left = [], 0.0
    for verdict in Verdict:
        width = 100 * verdicts.get(verdict.value, 0) / total if total else 0.0
        if width:
            parts.append(
                f'<rect class="f-{verdict.value.lower()}" x="{left:.2f}" y="0" '
                f'width="{width:.2f}" height="4"/>'
            )
            left += width
    return _svg("strip", 4, parts)


def _whisker(tally: Tally) -> Markup:
    """A failure rate with its interval on a scale of 0 to 100 %."""
    if not tally.n:
        return Markup("")
    low, width = 100 * tally.low, 100 * (tally.high - tally.low)
    at = 100 * tally.k / tally.n
    parts = [
        '<rect class="w-scale" x="0" y="4" width="100" height="2"/>',
        f'<rect class="w-range" x="{low:.2f}" y="3" width="{width:.2f}" height="4"/>',
        f'<rect class="w-value" x="{min(at, 98.5):.2f}" y="0" width="1.5" height="10"/>',
    ]
    return _svg("whisker", 10, parts)


def _gauge(share: float) -> Markup:
    """A share of 0..1 as a bar; decoration, the number stands beside it."""
    parts = [
        '<rect class="w-scale" x="0" y="0" width="100" height="4"/>',
        f'<rect class="w-wait" x="0" y="0" width="{100 * min(1.0, share):.2f}" height="4"/>',
    ]
    return _svg("strip", 4, parts)


def _svg(name: str, height: int, parts: list[str]) -> Markup:
    head = f'<svg class="{name}" viewBox="0 0 100 {height}" preserveAspectRatio="none"'
    return Markup(f'{head} aria-hidden="true">{"".join(parts)}</svg>')
