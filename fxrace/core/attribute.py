"""Joins findings with known hazards: what it is called, where it was reported, what helps.

Detectors know patterns, hazards know States; nothing else connects them. A finding that matches no
hazard is *uncatalogued*. The surprise: hazards are attributed once more whenever a stored run is
shown, so a hazard declared today names what was measured last month.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from fxrace.records.document import FindingRow
from fxrace.records.finding import Finding, Tier
from fxrace.records.hazard import Hazard
from fxrace.records.verdict import Verdict

Claim = TypeVar("Claim", Finding, FindingRow)


def hazard_of(claim: Finding | FindingRow, hazards: Iterable[Hazard]) -> Hazard | None:
    """The most specific hazard that this is of, by the rule that ``Hazard`` states, or None.

    A hazard that names what is waited for is more specific, then one that names regions, then the
    one with fewer States, fewer patterns, fewer regions; then the first by slug, so that the
    answer is stable.
    """
    matching = [hazard for hazard in hazards if _is_of(claim, hazard)]
    return min(matching, key=lambda hazard: _breadth(claim, hazard)) if matching else None


def slugs_of(claim: Finding | FindingRow, hazards: Iterable[Hazard]) -> frozenset[str]:
    """Every hazard that this may be called by, the less specific ones too."""
    return frozenset(hazard.slug for hazard in hazards if _is_of(claim, hazard))


def attributed(claims: Iterable[Claim], hazards: Sequence[Hazard]) -> tuple[Claim, ...]:
    """The same findings with ``hazard`` and ``references``, and a row's ``remedy``.

    A remedy that a sweep has measured is kept beside the hazard's own. ``hazard`` is None where
    none matches, whatever it was before.
    """
    found = []
    for claim in claims:
        hazard = hazard_of(claim, hazards)
        found.append(replace(claim, hazard=None) if hazard is None else _named(claim, hazard))
    return tuple(found)


#: What the explorer claims: it forced the meeting and found the State by experiment, so that the
#: State says which hazard it is, however it showed.
FORCED = frozenset({"interference", "schedule"})


def _is_of(claim: Finding | FindingRow, hazard: Hazard) -> bool:
    if claim.pattern in FORCED:
        return bool(hazard.patterns) and claim.state is not None and claim.state in hazard.states
    if claim.pattern not in hazard.patterns:
        return False
    if claim.state not in (hazard.states or (None,)):
        return False
    if not all(any(word in side.access for side in claim.sides) for word in hazard.waits_for):
        return False
    return not hazard.regions or _in_a_region_of(claim, hazard)


def _in_a_region_of(claim: Finding | FindingRow, hazard: Hazard) -> bool:
    return any(side.region in hazard.regions for side in claim.sides)


def _breadth(
    claim: Finding | FindingRow, hazard: Hazard
) -> tuple[bool, bool, int, bool, int, int, int, str]:
    # Several hazards may share a State; where only that was compared, how and where it showed
    # decides.
    forced = claim.pattern in FORCED
    odd = forced and (claim.tier is Tier.FAILURE) is (hazard.racy is Verdict.WRONG)
    elsewhere = forced and bool(hazard.regions) and not _in_a_region_of(claim, hazard)
    return (
        odd, elsewhere, -len(hazard.waits_for), not hazard.regions, len(hazard.states),
        len(hazard.patterns), len(hazard.regions),
        hazard.slug,
    )  # fmt: skip


def _named(claim: Claim, hazard: Hazard) -> Claim:
    references = tuple(dict.fromkeys((*claim.references, *hazard.references)))
    found = replace(claim, hazard=hazard.slug, references=references)
    if isinstance(found, FindingRow):
        return replace(found, remedy=_both(hazard.remedy, found.remedy))
    return found


def _both(known: str, measured: str) -> str:
    if not measured or measured.startswith(known):
        return measured or known
    return f"{known}. Measured: {measured}"
