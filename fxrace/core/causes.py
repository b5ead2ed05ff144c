"""Joins the findings of one trial that have one cause.

Two overlapping traces raise in one thread and leave three States off their baseline: that is
one cause with four symptoms, not four findings. A leak is folded into the failure whose State
is borrowed by the same kind of region; leaks without such a failure are joined by region.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fxrace.core.states import by_name
from fxrace.records.finding import Finding, Tier


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per fingerprint: the one that shows most stacks, with everybody's symptoms."""
    by_cause: dict[str, Finding] = {}
    for finding in findings:
        known = by_cause.get(finding.fingerprint, finding)
        best = max(known, finding, key=lambda f: sum(1 for side in f.sides if side.stack))
        symptoms = tuple(dict.fromkeys((*known.symptoms, *finding.symptoms)))
        by_cause[finding.fingerprint] = replace(best, symptoms=symptoms)
    return tuple(by_cause.values())


def joined(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merged findings, with each leak folded into the failure it belongs to."""
    every = merged(findings)
    kept = [finding for finding in every if finding.tier is not Tier.LEAK]
    for leak in every:
        if leak.tier is not Tier.LEAK:
            continue
        home = next((i for i, other in enumerate(kept) if _one_cause(other, leak)), None)
        if home is None:
            kept.append(leak)
        else:
            kept[home] = _with(kept[home], leak)
    return tuple(kept)


def _one_cause(home: Finding, leak: Finding) -> bool:
    region = _region(leak)
    return region is not None and home.tier is Tier.FAILURE and _region(home) == region


def _region(finding: Finding) -> str | None:
    state = by_name(finding.state) if finding.state else None
    return state.borrowed_by if state else None


def _with(home: Finding, leak: Finding) -> Finding:
    after = leak.symptoms[0]
    value = home.value if home.value.after else replace(home.value, after=after)
    told = tuple(f"left behind: {symptom}" for symptom in leak.symptoms)
    return replace(home, symptoms=(*home.symptoms, *told), value=value)
