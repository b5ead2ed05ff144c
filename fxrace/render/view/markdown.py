"""Text made fit for Markdown: nothing from a trial becomes markup, a link or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fxrace.render.view import words

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$]")
_MENTION = re.compile(r"@(?=\w)")
LINE = 400


def escaped(text: str, limit: int) -> str:
    """One line of plain text. A mention is broken up, or a stored name would call a stranger."""
    return _MENTION.sub("@\u200b", _MARKUP.sub(r"\\\g<0>", words.one_line(text, limit)))


def code(text: str, limit: int = LINE) -> str:
    """One line as inline code; backticks, which would end it, become quotes."""
    return f"`{words.one_line(text, limit).replace('`', chr(39))}`"


def cell(text: str) -> str:
    """Inline code or escaped text as a table cell: there even code may hold no bare ``|``."""
    return text.replace("\\|", "|").replace("|", "\\|")


def fenced(lines: Iterable[str], language: str = "text") -> str:
    """A fenced block, one entry a line; no line can end it."""
    shown = [words.one_line(line, LINE).replace("```", "'''") for line in lines]
    return f"```{language}\n" + ("\n".join(shown) or "nothing was recorded") + "\n```"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; ``rows`` hold text that is already Markdown."""
    lines = [head, ["--"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def folded(summary: str, body: str) -> str:
    """A block that opens on a click; ``summary`` is already escaped."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
