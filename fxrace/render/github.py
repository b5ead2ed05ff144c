"""A run as GitHub's workflow commands: findings become annotations of a pull request.

Print it in a step of a workflow. GitHub shows ten annotations of each level per step, so the
gravest come first. Every line is a command of ours: line breaks of a message are escaped, which
keeps a message from a trial from giving commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fxrace.records.document import FindingRow
from fxrace.records.finding import Tier
from fxrace.render.view import words
from fxrace.render.view.cases import Document, headline, seen, title
from fxrace.render.view.places import place

LEVELS: Mapping[Tier, str] = {
    Tier.FAILURE: "error",
    Tier.SILENT_WRONG: "error",
    Tier.LEAK: "error",
    Tier.RACE: "warning",
    Tier.NEAR_MISS: "notice",
}
FINDINGS = 50


def render(document: Document, *, root: Path | None = None) -> str:
    """One command a line. ``root`` is the checkout that annotations are relative to."""
    return "\n".join(_lines(document, root or Path.cwd())) + "\n"


def _lines(document: Document, root: Path) -> Iterator[str]:
    for row in document.findings[:FINDINGS]:
        yield _finding(row, document, root)
    more = len(document.findings) - FINDINGS
    if more > 0:
        told = f"... and {words.count(more, 'more finding')} in the report"
        yield command("notice", told, title=title(document))
    yield command("notice", headline(document), title=title(document))


def _finding(row: FindingRow, document: Document, root: Path) -> str:
    where = place(row, root)
    at = {"file": where.path, "line": str(where.line)} if where and where.inside else {}
    told = [
        f"{words.one_line(row.title, 300)}",
        f"hazard: {words.hazard(row.hazard)}; seen in {seen(row, document)}; fingerprint "
        f"{words.one_line(row.fingerprint, 60)}",
        f"again: {words.one_line(row.replay, 400)}" if row.replay else "",
    ]
    level, mark = LEVELS[row.tier], row.tier.value
    if row.suppressed is not None:
        level, mark = "notice", f"{mark} suppressed"
        told.insert(0, f"suppressed: {words.one_line(row.suppressed, 300)}")
    name = f"{mark} {words.one_line(row.state or row.pattern or row.title, 100)}"
    return command(level, "\n".join(filter(None, told)), **at, title=name)


def command(level: str, message: str, **properties: str) -> str:
    """``::level name=value,name=value::message`` with everything escaped that GitHub reads."""
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {given}::{_message(message)}"


def _message(text: str) -> str:
    return words.safe(text, 4000).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
