"""Suppressions: read from TOML, held against findings, and written ready to paste.

Why a reason is obligatory: a list of hashes that nobody can explain is never emptied again. The
surprise: an expired suppression does nothing, so a forgotten one turns a build red by itself.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from fxrace.core.states import by_name
from fxrace.errors import UsageError
from fxrace.records.document import FindingRow
from fxrace.records.suppression import Suppressed, Suppression

TABLE = "suppress"
_WHAT = ("fingerprint", "hazard", "state")
_KEYS = frozenset({*_WHAT, "reason", "until"})
_HEAD = re.compile(rf"^[ \t]*\[\[\s*{TABLE}\s*\]\]", re.M)
_REMEDY = "see docs/ci.md for the form of the file"
_TITLE = 90


class Found(Protocol):
    """What is read of a finding: a ``FindingRow``, a ``Finding`` and an ``Entry`` are one."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def state(self) -> str | None: ...

    @property
    def hazard(self) -> str | None: ...


def parse(text: str, *, name: str) -> tuple[Suppression, ...]:
    """The suppressions in a file's text; ``name`` is the file for messages. Raises UsageError."""
    plain = _toml(text, name)
    if unknown := sorted(plain.keys() - {TABLE}):
        raise UsageError(f"{name}: unknown key {unknown[0]!r}", remedy=_REMEDY)
    tables = plain.get(TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UsageError(f"{name}: write [[{TABLE}]], with double brackets", remedy=_REMEDY)
    lines = [text.count("\n", 0, match.start()) + 1 for match in _HEAD.finditer(text)]
    lines += [0] * (len(tables) - len(lines))
    return tuple(_one(plain, line, name) for plain, line in zip(tables, lines, strict=False))


def apply(rules: Sequence[Suppression], findings: Iterable[Found], *, today: date) -> Suppressed:
    """Which findings these rules suppress today, and which rules did nothing."""
    expired = tuple(rule for rule in rules if _expired(rule, today))
    by: dict[str, str] = {}
    used: set[int] = set()
    for finding in findings:
        for number, rule in enumerate(rules):
            if rule not in expired and matches(rule, finding):
                by.setdefault(finding.fingerprint, rule.reason)
                used.add(number)
    idle = (rule for number, rule in enumerate(rules) if number not in used)
    return Suppressed(
        by=by, unused=tuple(rule for rule in idle if rule not in expired), expired=expired
    )


def matches(rule: Suppression, finding: Found) -> bool:
    """True when the finding has everything that the rule names."""
    return (
        (rule.fingerprint is None or rule.fingerprint == finding.fingerprint)
        and (rule.hazard is None or rule.hazard == finding.hazard)
        and (rule.state is None or _same_state(rule.state, finding.state))
    )


def lived_with(names: Iterable[str], known: Mapping[str, FindingRow]) -> bool:
    """True when a failed trial with these findings needs nobody's attention: it has proven ones
    and each of them is suppressed. A failure that nothing explains is never lived with.
    """
    proven = [known[name] for name in names if name in known and known[name].tier.proven]
    return bool(proven) and all(row.suppressed is not None for row in proven)


def suppression_text(finding: Found, *, reason: str = "") -> str:
    """Ready to paste into the file. The reason is left for the reader to write: until then the
    file is refused, so nothing is suppressed by a careless paste.
    """
    shown = (c if c.isprintable() else " " for c in finding.title[:_TITLE])
    lines = (
        f"[[{TABLE}]]",
        f"# {' '.join(''.join(shown).split())}",
        f"fingerprint = {_quoted(finding.fingerprint)}",
        f"reason = {_quoted(reason)}",
    )
    return "\n".join(lines) + "\n"


def _one(plain: Mapping[str, Any], line: int, name: str) -> Suppression:
    where = f"{name}, line {line}" if line else name
    if unknown := sorted(plain.keys() - _KEYS):
        raise UsageError(f"{where}: unknown key {unknown[0]!r}", remedy=_REMEDY)
    until = plain.get("until")
    words = {key: plain[key] for key in (*_WHAT, "reason") if key in plain}
    if wrong := [key for key, value in words.items() if not isinstance(value, str)]:
        raise UsageError(f"{where}: {wrong[0]} is no text", remedy="put it into quotes")
    if not str(words.get("reason", "")).strip():
        raise UsageError(
            f"{where}: a suppression without a reason", remedy="write why this may stay"
        )
    if not any(words.get(key) for key in _WHAT):
        raise UsageError(
            f"{where}: a suppression of everything", remedy=f"name one of {', '.join(_WHAT)}"
        )
    return Suppression(**words, until=_date(until, where), line=line)


def _date(value: object, where: str) -> str | None:
    """An ISO date, from a TOML date or from text."""
    if value is None:
        return None
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UsageError(
            f"{where}: until = {str(value)[:40]!r} is no date", remedy="write it as 2027-03-31"
        ) from None


def _toml(text: str, name: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is no TOML: {error}", remedy=_REMEDY) from None


def _expired(rule: Suppression, today: date) -> bool:
    return rule.until is not None and today.isoformat() > rule.until


def _same_state(named: str, state: str | None) -> bool:
    """A State by its name or by its attribute, whichever the finding has."""
    if state is None or named == state:
        return named == state
    row = by_name(state)
    return row is not None and row.attribute == named


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, and lone surrogates are spelled out."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
