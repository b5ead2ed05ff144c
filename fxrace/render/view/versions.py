"""The version matrix of the catalogue: which known hazard was seen on which torch.

It is drawn from the headers of the catalogue, so it stands in every report, and says which of the
hazards this run met. What a header tells of a torch is kept whole for the tooltip and shown as
the letter of the racy twin's verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fxrace.records.document import FindingRow
from fxrace.records.hazard import Hazard
from fxrace.records.verdict import Verdict
from fxrace.render.view import words

_VERDICTS = {verdict.value: verdict for verdict in Verdict}


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A hazard on one torch. ``verdict`` is None where the header names none."""

    verdict: Verdict | None
    short: str
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One hazard; ``seen`` is in the order of the torches, ``met`` counts findings of this run."""

    hazard: Hazard
    seen: tuple[Seen | None, ...]
    met: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Versions:
    """Torches oldest first, hazards that this run met first, then by name."""

    torches: tuple[str, ...]
    lines: tuple[Line, ...]


def versions(hazards: Iterable[Hazard], findings: Sequence[FindingRow]) -> Versions:
    """Lay out the catalogue."""
    every = tuple(hazards)
    met = Counter(row.hazard for row in findings if row.hazard)
    torches = sorted({torch for one in every for torch in one.evidence}, key=_order)
    lines = [
        Line(
            hazard=one,
            seen=tuple(_seen(one.evidence, torch) for torch in torches),
            met=met[one.slug],
        )
        for one in every
    ]
    lines.sort(key=lambda line: (-line.met, line.hazard.slug))
    return Versions(torches=tuple(torches), lines=tuple(lines))


def _seen(evidence: Mapping[str, str], torch: str) -> Seen | None:
    """``RAISED 5 of 5; guarded CLEAN 5 of 5`` as a letter and its counts."""
    if torch not in evidence:
        return None
    told = words.one_line(evidence[torch], 200)
    head, _, rest = told.partition(" ")
    verdict = _VERDICTS.get(head)
    return Seen(verdict=verdict, short=rest.partition(";")[0][:12] if verdict else "", told=told)


def _order(torch: str) -> tuple[int, ...]:
    return tuple(int(part) for part in torch.split("+")[0].split(".") if part.isdigit())
