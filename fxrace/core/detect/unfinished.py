"""T1: a drafter stopped early and nobody said why: fewer steps than the reference, no error."""

from __future__ import annotations

from collections import Counter

from fxrace.core.curve import curve_of
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per drafter that is short of steps in a trial that ended without an error."""
    reference, trace = evidence.reference, evidence.trace
    ended = (last := trace.last("phase")) is not None and last.data["name"] == "end"
    if reference is None or reference.problem is not None or not ended:
        return ()
    if any(True for _ in trace.of("raised", "broken", "skipped")):
        return ()
    done = Counter(drafter for drafter, _ in curve_of(trace).points)
    wanted = Counter(drafter for drafter, _ in reference.curve.points)
    return tuple(
        _finding(drafter, done[drafter], n) for drafter, n in wanted.items() if done[drafter] < n
    )


def _finding(drafter: int, done: int, wanted: int) -> Finding:
    text = f"finished {done} of {wanted} steps without an error"
    return Finding(
        fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("unfinished",)),
        title="drafter stopped early without an error",
        tier=Tier.SILENT_WRONG,
        state=None,
        hazard=None,
        sides=(Side(thread=f"drafter-{drafter}", region="step", access=text),),
        symptoms=(f"drafter-{drafter} {text}",),
    )


detector = Detector(find=find)
