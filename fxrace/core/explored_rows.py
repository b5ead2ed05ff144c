"""Explored pairs become rows, findings and outcomes: what documents and the store are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fxrace.core.causes import merged
from fxrace.core.exploration import Explored, strongest
from fxrace.core.interval import wilson
from fxrace.core.pairs import digest_of
from fxrace.records.document import FindingRow
from fxrace.records.exploration import OperationFile, PairRow, PairVerdict
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import Ending, Outcome
from fxrace.records.trial import Setting
from fxrace.records.verdict import Verdict

_FAILED = {
    Tier.FAILURE: Verdict.RAISED,
    Tier.SILENT_WRONG: Verdict.WRONG,
    Tier.LEAK: Verdict.WRONG,
}


def outcome(ending: Ending, results: Sequence[Explored]) -> Outcome:
    """The verdict of the whole process; the pairs have their own."""
    findings = [finding for one in results for finding in one.findings]
    inconclusive = [one for one in results if one.data["verdict"] == "inconclusive"]
    tier = strongest(findings)
    verdict = Verdict.CLEAN
    if tier is not None:
        verdict = _FAILED.get(tier, Verdict.WRONG)
    elif len(inconclusive) == len(results):
        verdict = Verdict.BLIND
    symptom = findings[0].symptoms[0] if findings else ""
    if not symptom and inconclusive:
        symptom = str(inconclusive[0].data["reason"])
    return Outcome(verdict=verdict, symptom=symptom, duration_s=round(ending.duration_s, 3))


def rows(results: Iterable[Explored], settings: Mapping[str, Setting]) -> Iterator[PairRow]:
    for one in results:
        data = one.data
        yield PairRow(
            a=one.a,
            b=one.b,
            grain=data["grain"],
            strategy=data["strategy"],
            points=data["points"],
            stopped=data["stopped"],
            schedules=data["schedules"],
            preemption_bound=data["preemption_bound"],
            exhausted=data["exhausted"],
            slips=data["slips"],
            blocked=data["blocked"],
            differences=data["differences"],
            verdict=PairVerdict(data["verdict"]),
            reason=data["reason"],
            findings=tuple(finding.fingerprint for finding in one.findings),
            duration_s=data["duration_s"],
            digest=digest_of((one.a, one.b), settings),
        )


def findings(
    results: Sequence[Explored], settings: Mapping[str, Setting], line: str
) -> list[FindingRow]:
    """One row per cause, gravest first, then by how many pairs show it."""
    pairs: dict[str, list[Explored]] = defaultdict(list)
    for one in results:
        for finding in one.findings:
            pairs[finding.fingerprint].append(one)
    rows = [_finding(print_, seen, settings, line) for print_, seen in pairs.items()]
    return sorted(rows, key=lambda row: (row.tier.value, -len(row.trials), row.title))


def _finding(
    fingerprint: str, seen: Sequence[Explored], settings: Mapping[str, Setting], line: str
) -> FindingRow:
    each: list[Finding] = [f for one in seen for f in one.findings if f.fingerprint == fingerprint]
    gravest = min(each, key=lambda finding: finding.tier.value)
    finding = merged([gravest, *each])[0]
    first = next(one for one in seen if gravest in one.findings)
    shown = [one.shown[fingerprint] for one in seen]
    token = str(first.shown[fingerprint].get("token", ""))
    return FindingRow(
        fingerprint=fingerprint,
        title=gravest.title,
        pattern=finding.pattern,
        tier=gravest.tier,
        state=finding.state,
        hazard=None,
        sides=gravest.sides,
        symptoms=finding.symptoms,
        value=gravest.value,
        token=token,
        replay=f"fxrace replay {token}{line}" if token else f"fxrace explore {first.a} {first.b}",
        repro=None,
        reliability=wilson(sum(one["k"] for one in shown), sum(one["n"] for one in shown)),
        remedy="",
        references=finding.references,
        trials=tuple(digest_of((one.a, one.b), settings) for one in seen),
    )


def told(results: Sequence[Explored], operations: Sequence[OperationFile]) -> Mapping[str, str]:
    helps = {one.name: one.help for one in operations}
    names = dict.fromkeys(name for one in results for name in (one.a, one.b))
    return {name: helps.get(name, "yours") for name in sorted(names)}
