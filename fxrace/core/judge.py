"""The verdict of a trial, from its evidence and its findings. Never CLEAN because blind."""

from __future__ import annotations

from collections.abc import Callable

from fxrace.core.curve import curve_of
from fxrace.core.detect.crash import died
from fxrace.core.evidence import Evidence
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import DrafterSpeed, Outcome, Stop, Throughput
from fxrace.records.tally import Spread
from fxrace.records.verdict import Verdict

_SILENT_TIERS = frozenset({Tier.SILENT_WRONG, Tier.LEAK})
_Ruling = tuple[Verdict, str] | None


def judge(evidence: Evidence, findings: tuple[Finding, ...]) -> Outcome:
    """First rule that applies: tool and part problems, hang, crash, error, wrong, blind, clean."""
    for rule in _RULES:
        ruling = rule(evidence, findings)
        if ruling is not None:
            break
    else:
        ruling = (Verdict.CLEAN, "")
    verdict, symptom = ruling
    summary = evidence.trace.last("summary")
    return Outcome(
        verdict=verdict,
        symptom=symptom,
        duration_s=round(evidence.ending.duration_s, 3),
        throughput=_throughput(evidence),
        compiles=sum(1 for event in evidence.trace.of("compile") if event.data["ok"]),
        peak_memory_bytes=summary.data["peak_memory_bytes"] if summary else None,
        notes=tuple(dict.fromkeys(event.data["text"] for event in evidence.trace.of("note"))),
    )


def _not_about_the_program(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    del findings
    if event := evidence.trace.last("broken"):
        return Verdict.BROKEN, f"{event.data['part']}: {event.data['reason']}"
    if event := evidence.trace.last("skipped"):
        return Verdict.SKIPPED, str(event.data["reason"])
    if evidence.ending.stop is Stop.NOT_STARTED:
        reason = "; ".join(reason for _, reason in evidence.ending.blind)
        return Verdict.BROKEN, f"did not start: {reason or 'no reason given'}"
    return None


def _hung(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    if evidence.ending.stop is Stop.SILENT:
        titles = (finding.title for finding in findings if finding.pattern == "hang")
        return Verdict.HUNG, next(titles, "no sign of life")
    return None


def _crashed(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    del findings
    how = died(evidence.ending, evidence.trace)
    return (Verdict.CRASHED, how) if how else None


def _raised(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    roles = list(dict.fromkeys(e.data["role"] for e in evidence.trace.of("raised")))
    if not roles:
        return None
    failures = [f for f in findings if f.tier is Tier.FAILURE]
    first = failures[0].symptoms[0] if failures else "an exception"
    return Verdict.RAISED, f"{', '.join(roles)}: {first}"


def _wrong(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    del evidence
    silent = [finding for finding in findings if finding.tier in _SILENT_TIERS]
    return (Verdict.WRONG, silent[0].symptoms[0]) if silent else None


def _blind(evidence: Evidence, findings: tuple[Finding, ...]) -> _Ruling:
    del findings
    if evidence.ending.stop is Stop.TIMED_OUT:
        return Verdict.BLIND, "still making progress at its time limit"
    if event := evidence.trace.last("blind"):
        return Verdict.BLIND, f"{event.data['what']}: {event.data['reason']}"
    if evidence.trace.unreadable:
        return Verdict.BLIND, f"{evidence.trace.unreadable} lines of its record are unreadable"
    if not curve_of(evidence.trace).points:
        return Verdict.BLIND, "it took no step"
    reference = evidence.reference
    if reference is not None and reference.problem is not None:
        return Verdict.BLIND, reference.problem
    return None


_RULES: tuple[Callable[[Evidence, tuple[Finding, ...]], _Ruling], ...] = (
    _not_about_the_program,
    _hung,
    _crashed,
    _raised,
    _wrong,
    _blind,
)


def _throughput(evidence: Evidence) -> Throughput | None:
    summary = evidence.trace.last("summary")
    if summary is None or not summary.data["draft_slots_per_s"]:
        return None
    names = (
        "draft_slots_per_s",
        "context_tokens_per_s",
        "rows_per_s",
        "tflops",
        "mfu",
        "oversubscribed",
    )
    said = summary.data
    windows = said.get("windows")
    gil = evidence.trace.last("gil")
    return Throughput(
        **{name: said[name] for name in names},
        hfu=said.get("hfu"),
        anchors_per_s=said.get("anchors_per_s"),
        windows=Spread(**{k: windows[k] for k in ("median", "low", "high", "n")})
        if windows
        else None,
        gil_share=gil.data["shares"] if gil else None,
        drafters=_drafters(evidence),
    )


def _drafters(evidence: Evidence) -> tuple[DrafterSpeed, ...]:
    """As the summary has them, joined with what their queues said of themselves."""
    summary = evidence.trace.last("summary")
    said = summary.data.get("drafters", ()) if summary else ()
    full = {event.data["drafter"]: event.data["full_s"] for event in evidence.trace.of("queue")}
    return tuple(DrafterSpeed(**{**one, "queue_full_s": full.get(one["drafter"])}) for one in said)
