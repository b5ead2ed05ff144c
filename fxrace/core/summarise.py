"""Trials become rows, cells and findings of a run: the numbers that every format shows."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fxrace.core.causes import merged
from fxrace.core.expand import is_reference
from fxrace.core.interval import spread, wilson
from fxrace.records.document import CellRow, FindingRow, TrialRow
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import Outcome, ThreadStack
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict

PRESSURE = "pressure"
_SEVERITY = {tier: rank for rank, tier in enumerate(Tier)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One finished trial with all that was concluded from it."""

    trial: Trial
    outcome: Outcome
    findings: tuple[Finding, ...]
    stacks: tuple[ThreadStack, ...] = ()


ReplayLine = Callable[[str], str]


def place_in(axes: Mapping[str, Sequence[str]], trial: Trial) -> tuple[Any, ...]:
    """Sorts trials as planned: references first, then by repeat and by axis in axis order."""
    return (
        not is_reference(trial),
        trial.repeat,
        *(
            values.index(knob) if (knob := trial.knobs.get(axis)) in values else -1
            for axis, values in axes.items()
        ),
    )


def trial_rows(judged: Iterable[Judged], replay: ReplayLine) -> tuple[TrialRow, ...]:
    """One row per trial, in order; ``replay(digest)`` is the command that runs it again."""
    named = ((one, one.trial.digest) for one in judged)
    return tuple(
        TrialRow(
            digest=digest,
            knobs=one.trial.knobs,
            seed=one.trial.seed,
            repeat=one.trial.repeat,
            verdict=one.outcome.verdict,
            symptom=one.outcome.symptom,
            duration_s=one.outcome.duration_s,
            findings=tuple(finding.fingerprint for finding in one.findings),
            throughput=one.outcome.throughput,
            compiles=one.outcome.compiles,
            peak_memory_bytes=one.outcome.peak_memory_bytes,
            notes=one.outcome.notes,
            replay=replay(digest),
            stacks=one.stacks if one.outcome.verdict is Verdict.HUNG else (),
        )
        for one, digest in named
    )


def cell_rows(judged: Iterable[Judged]) -> tuple[CellRow, ...]:
    """One row per combination of knobs; references are no cells.

    The failure rate counts conclusive trials only; throughput only trials that did not fail,
    because a loop that lost two of three drafters is not fast.
    """
    cells: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        if not is_reference(one.trial):
            cells[_key(one.trial.knobs)].append(one)
    return tuple(_cell(repeats) for repeats in cells.values())


def finding_rows(judged: Sequence[Judged], replay: ReplayLine) -> tuple[FindingRow, ...]:
    """One row per cause, worst tier first, then by how many trials it was seen in."""
    seen: dict[str, list[Judged]] = defaultdict(list)
    conclusive: Counter[str] = Counter()
    for one in judged:
        conclusive[_key(one.trial.knobs)] += one.outcome.verdict.conclusive
        for finding in one.findings:
            seen[finding.fingerprint].append(one)
    # Most causes strike the same few configurations, and each remedy takes a look at every trial.
    remedy = cache(lambda attention: _remedy(attention, judged))
    rows = [
        _finding(fingerprint, trials, conclusive, replay, remedy(_attention(trials)))
        for fingerprint, trials in seen.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_SEVERITY[row.tier], -len(row.trials), row.title)))


def _cell(repeats: list[Judged]) -> CellRow:
    verdicts = Counter(one.outcome.verdict.value for one in repeats)
    conclusive = [one.outcome.verdict for one in repeats if one.outcome.verdict.conclusive]
    speeds = [
        one.outcome.throughput.draft_slots_per_s
        for one in repeats
        if one.outcome.throughput is not None and not one.outcome.verdict.failed
    ]
    failed = sum(1 for verdict in conclusive if verdict.failed)
    return CellRow(
        knobs=repeats[0].trial.knobs,
        verdicts=dict(sorted(verdicts.items())),
        failure_rate=wilson(failed, len(conclusive)),
        throughput=spread(speeds),
    )


def _finding(
    fingerprint: str,
    trials: list[Judged],
    conclusive: Mapping[str, int],
    replay: ReplayLine,
    remedy: str,
) -> FindingRow:
    each = [f for one in trials for f in one.findings if f.fingerprint == fingerprint]
    finding = merged(each)[0]
    chances = sum(conclusive[cell] for cell in {_key(one.trial.knobs) for one in trials})
    token = trials[0].trial.digest
    return FindingRow(
        fingerprint=fingerprint,
        title=finding.title,
        pattern=finding.pattern,
        tier=finding.tier,
        state=finding.state,
        hazard=finding.hazard,
        sides=finding.sides,
        symptoms=finding.symptoms,
        value=finding.value,
        token=token,
        replay=replay(token),
        repro=None,
        reliability=wilson(min(len(trials), chances), chances),
        remedy=remedy,
        references=finding.references,
        trials=tuple(one.trial.digest for one in trials),
    )


def _attention(trials: Iterable[Judged]) -> frozenset[str | None]:
    return frozenset(one.trial.knobs.get("attention") for one in trials)


def _remedy(attention: frozenset[str | None], judged: Sequence[Judged]) -> str:
    """The fastest configuration of this run that survived, among those with this attention.

    Measured, not advised: it differs from the victims in nothing that was not an axis, kept the
    same attention, and survived every trial under every pressure.
    """
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        if not is_reference(one.trial) and one.trial.knobs.get("attention") in attention:
            groups[_key(one.trial.knobs, without=PRESSURE)].append(one)
    surviving = [
        (measured.median, len(group), group[0].trial.knobs)
        for group in groups.values()
        if all(one.outcome.verdict is Verdict.CLEAN for one in group)
        and (measured := _cell(group).throughput) is not None
    ]
    if not surviving:
        return "no configuration of this run survived it"
    speed, n, knobs = max(surviving, key=lambda row: row[0])
    chosen = ", ".join(f"{axis}={knobs[axis]}" for axis in knobs if axis in _REMEDIES)
    return f"{chosen} survived {n} of {n} trials at {speed:.0f} draft slots/s in this run"


_REMEDIES = ("locking", "checkpoint", "warmup", "attention")


def _key(knobs: Mapping[str, str], *, without: str = "") -> str:
    return json.dumps({k: v for k, v in sorted(knobs.items()) if k != without})
