"""Joins the findings of one trial that have one cause.

Two overlapping traces raise in one thread and leave three States off their baseline: that is
one cause with four symptoms, not four findings. A leak is folded into the failure whose State
is borrowed by the same kind of region; leaks without such a failure are joined by region. What
only suggests is folded into what proves it: a race into the failure or leak over its region, a
near miss into any of them, opposite lock orders into the deadlock that they became, a used-up
recompile limit into the dense attention that it led to, and calls that ran uncompiled into the
limit that made them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from fxrace.core.states import by_name
from fxrace.records.finding import Finding, Tier

# What is folded, strongest first, and into findings of which tiers.
_HOMES: dict[Tier, frozenset[Tier]] = {
    Tier.LEAK: frozenset({Tier.FAILURE}),
    Tier.RACE: frozenset({Tier.FAILURE, Tier.LEAK, Tier.SILENT_WRONG}),
    Tier.NEAR_MISS: frozenset({Tier.FAILURE, Tier.LEAK, Tier.RACE}),
}
_NEAR_MISS, _LOCK_ORDER, _HANG = "near_miss", "lock_order", "hang"
_EAGER, _DENSE = "silent_eager", "dense"
_LIMITS = frozenset({"recompile_limit", "config_divergence"})
# It costs time by itself, whatever its function's limit.
_APART = frozenset({"duplicate_compile"})


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per fingerprint: the one that shows most stacks, with everybody's symptoms."""
    best: dict[str, Finding] = {}
    symptoms: dict[str, dict[str, None]] = {}
    for finding in findings:
        name = finding.fingerprint
        known = best.get(name, finding)
        best[name] = max(known, finding, key=lambda f: sum(1 for side in f.sides if side.stack))
        symptoms.setdefault(name, {}).update(dict.fromkeys(finding.symptoms))
    return tuple(replace(f, symptoms=tuple(symptoms[name])) for name, f in best.items())


def joined(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merged findings, with each one folded into the one it belongs to."""
    every = merged(findings)
    kept = [finding for finding in every if finding.tier not in _HOMES]
    for tier in _HOMES:
        for finding in every:
            if finding.tier is tier:
                _fold(kept, finding)
    for wanted in (_is_eager, _is_limit):
        for finding in [finding for finding in kept if wanted(finding)]:
            kept.remove(finding)
            _fold(kept, finding)
    return tuple(kept)


def _is_eager(finding: Finding) -> bool:
    return finding.pattern == _EAGER


def _is_limit(finding: Finding) -> bool:
    return finding.pattern in _LIMITS and finding.tier is Tier.SILENT_WRONG


def _fold(kept: list[Finding], finding: Finding) -> None:
    """Into its home where there is one, of the same State if it can be, else to the list's end."""
    homes = [i for i, other in enumerate(kept) if _one_cause(other, finding)]
    home = next((i for i in homes if kept[i].state == finding.state), homes[0] if homes else None)
    if home is None:
        kept.append(finding)
    else:
        fold = _with_nothing if _is_eager(finding) else _WITH.get(finding.tier, _with_cause)
        kept[home] = fold(kept[home], finding)


def _one_cause(home: Finding, finding: Finding) -> bool:
    if _is_eager(finding):
        return _is_limit(home)
    if _is_limit(finding):
        return home.pattern == _DENSE
    if finding.pattern == _LOCK_ORDER:
        return home.pattern == _HANG and _held(finding, first=1) <= _held(home)
    if finding.tier is Tier.NEAR_MISS and finding.pattern != _NEAR_MISS:
        return False
    if home.tier is Tier.SILENT_WRONG:
        suggests = finding.tier is Tier.RACE or finding.pattern == _NEAR_MISS
        return (
            suggests
            and finding.pattern not in _APART
            and finding.state is not None
            and home.state == finding.state
        )
    region = _region(finding)
    return (
        region is not None and home.tier in _HOMES.get(finding.tier, ()) and _region(home) == region
    )


def _region(finding: Finding) -> str | None:
    state = by_name(finding.state) if finding.state else None
    return state.borrowed_by if state else None


def _held(finding: Finding, first: int | None = None) -> set[str]:
    """The locks its sides hold; the ``first`` of each side are those a circle of orders is of."""
    return {lock for side in finding.sides for lock in side.locks_held[:first]}


def _with_leak(home: Finding, leak: Finding) -> Finding:
    after = leak.symptoms[0]
    value = home.value if home.value.after else replace(home.value, after=after)
    told = tuple(f"left behind: {symptom}" for symptom in leak.symptoms)
    return replace(home, symptoms=(*home.symptoms, *told), value=value)


def _with_race(home: Finding, race: Finding) -> Finding:
    """The race as evidence; its other thread where the failure knows only its victim, both where
    a leak knows none.
    """
    seen = {side.thread for side in home.sides}
    missing = [side for side in race.sides if side.thread not in seen]
    sides = (*home.sides, *missing[:1]) if len(home.sides) == 1 else home.sides
    if home.tier is Tier.LEAK and not any(side.stack for side in home.sides):
        sides = race.sides  # a leak alone knows no thread
    told = tuple(f"evidence: {symptom}" for symptom in race.symptoms)
    return replace(home, sides=sides, symptoms=(*home.symptoms, *told))


def _with_nothing(home: Finding, weaker: Finding) -> Finding:
    """What did collide says more than what nearly did; why it ran uncompiled, more than that."""
    del weaker
    return home


def _with_cause(home: Finding, cause: Finding) -> Finding:
    told = tuple(f"because {symptom}" for symptom in cause.symptoms)
    return replace(home, symptoms=(*home.symptoms, *told))


_WITH: dict[Tier, Callable[[Finding, Finding], Finding]] = {
    Tier.LEAK: _with_leak,
    Tier.RACE: _with_race,
    Tier.NEAR_MISS: _with_nothing,
}
