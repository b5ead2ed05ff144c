"""The card of a finding: what broke and why in a sentence, then all that can be pasted somewhere.

The surprise: the issue text is kept in two parts, before and after the script, because the script
stands on the page once already.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fxrace.core.moments import told_moments
from fxrace.core.states import by_name
from fxrace.core.suppressions import suppression_text
from fxrace.records.document import FindingRow
from fxrace.records.environment import Environment
from fxrace.records.hazard import Hazard
from fxrace.records.page import Exhibits, Moment
from fxrace.records.state import State
from fxrace.render.exploration import markdown
from fxrace.render.view import words
from fxrace.render.view.stacks import Room, Stack

#: Characters of scripts and of issue texts that a page has room for, and what each has at least.
SCRIPTS, ISSUES, LEAST = 200_000, 100_000, 600
_PLAIN = re.compile(r"[^A-Za-z0-9_.:-]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A finding as it is shown. ``anchor`` is its fragment; ``seen_in`` is (what, how often).

    ``issue`` is the text to file upstream, before and after ``script``; ``left_out`` is True where
    there is a script that found no room on the page.
    """

    anchor: str
    row: FindingRow
    cause: str
    state: State | None
    hazard: Hazard | None
    stacks: tuple[Stack, ...]
    moments: tuple[Moment, ...]
    seen_in: tuple[tuple[str, str], ...]
    script: str
    issue: tuple[str, str]
    suppression: str
    left_out: bool


class Cards:
    """Makes cards, in order, from what they share; the first ones get the room there is."""

    def __init__(self, exhibits: Exhibits, environment: Environment, room: Room) -> None:
        self._exhibits, self._environment, self._room = exhibits, environment, room
        self._hazards = {hazard.slug: hazard for hazard in exhibits.hazards}
        self._scripts, self._issues = SCRIPTS, ISSUES

    def card(self, row: FindingRow, seen_in: Iterable[tuple[str, str]], anchor: str) -> Card:
        """The card of one finding."""
        hazard = self._hazards.get(row.hazard or "")
        state = by_name(row.state) if row.state else None
        whole = self._exhibits.scripts.get(row.fingerprint, "")
        script = words.safe(whole, len(whole)) if len(whole) <= self._scripts else ""
        self._scripts -= len(script)
        return Card(
            anchor=anchor,
            row=row,
            cause=_cause(state, hazard),
            state=state,
            hazard=hazard,
            stacks=tuple(self._room.fold(side.stack) for side in row.sides),
            moments=self._exhibits.moments.get(row.fingerprint) or told_moments(row),
            seen_in=tuple(seen_in),
            script=script,
            issue=self._issue(row, script),
            suppression=words.safe(suppression_text(row), 2000),
            left_out=bool(whole) and not script,
        )

    def _issue(self, row: FindingRow, script: str) -> tuple[str, str]:
        """The text round the script; all of it in front where there is none."""
        mark = secrets.token_hex(16)
        whole = markdown.render(row, self._environment, mark if script else None)
        before, _, after = (
            words.safe(part, max(self._issues, LEAST)) for part in whole.partition(mark)
        )
        self._issues -= len(before) + len(after)
        return before, after


def anchors(rows: Sequence[FindingRow]) -> dict[str, str]:
    """Fingerprint -> fragment, the same in every report; made unique where texts are odd."""
    found: dict[str, str] = {}
    for row in rows:
        plain = f"finding-{_PLAIN.sub('-', row.fingerprint)[:60]}"
        taken = plain in found.values()
        found[row.fingerprint] = f"{plain}-{len(found)}" if taken else plain
    return found


def _cause(state: State | None, hazard: Hazard | None) -> str:
    """Why, in a sentence or two, from the registry and the catalogue; the title says what."""
    told = []
    if hazard is not None:
        told.append(f"Known hazard: {hazard.title}.")
    if state is not None:
        told.append(f"{state.name} ({state.attribute}) is shared by all threads: {state.why}.")
    if not told:
        told.append("No known hazard has this pattern: this may be the first report of it.")
    return " ".join(told)
