"""The verdict follows the evidence, and is never CLEAN without any."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from fxrace.core.curve import Curve, Reference, curve_of, reference_from
from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.core.judge import judge
from fxrace.records.event import Event
from fxrace.records.outcome import DrafterSpeed, Stop, Throughput
from fxrace.records.verdict import Verdict
from tests.unit.core.evidence_of import REFERENCE, STEPS, event, evidence, step
from tests.unit.core.test_detect import FIRES, USER, raised

CASES: dict[str, tuple[Evidence, Verdict]] = {
    "all steps equal the reference": (evidence(*STEPS), Verdict.CLEAN),
    "an exception": (FIRES["exception"], Verdict.RAISED),
    "an exception outweighs a wrong number": (
        evidence(step(0, 0, loss=0.0), raised(USER)), Verdict.RAISED,
    ),
    "a wrong loss": (FIRES["departure"], Verdict.WRONG),
    "a wrong gradient": (evidence(step(0, 0, grad_norm=1.1), *STEPS[1:]), Verdict.WRONG),
    "not a number": (evidence(step(0, 0, loss=float("nan")), *STEPS[1:]), Verdict.WRONG),
    "a State left off its baseline": (FIRES["leak"], Verdict.WRONG),
    "silently dense": (FIRES["dense"], Verdict.WRONG),
    "stopped early": (FIRES["unfinished"], Verdict.WRONG),
    "silence": (FIRES["hang"], Verdict.HUNG),
    "a signal": (FIRES["crash"], Verdict.CRASHED),
    "left early with a status": (evidence(code=3, complete=False), Verdict.CRASHED),
    "out of time but alive": (
        evidence(*STEPS, stop=Stop.TIMED_OUT, complete=False), Verdict.BLIND,
    ),
    "a hook that could not attach": (
        evidence(*STEPS, event("blind", what="compiles", reason="r")), Verdict.BLIND,
    ),
    "no step at all": (evidence(reference=None), Verdict.BLIND),
    "a reference that differs from itself": (
        evidence(*STEPS, reference=Reference(curve=Curve(points={}), problem="differs")),
        Verdict.BLIND,
    ),
    "an unreadable record": (evidence(*STEPS, unreadable=1), Verdict.BLIND),
    "a part that does not import": (
        evidence(event("broken", part="locking/x", reason="SyntaxError")), Verdict.BROKEN,
    ),
    "a part that refuses the device": (evidence(event("skipped", reason="r")), Verdict.SKIPPED),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    given, expected = CASES[name]
    outcome = judge(given, findings_in(given))
    assert outcome.verdict is expected
    assert bool(outcome.symptom) == (expected is not Verdict.CLEAN)


def test_a_reference_needs_two_equal_runs() -> None:
    curve = curve_of(evidence(*STEPS).trace)
    other = curve_of(evidence(*STEPS[1:], step(0, 0, loss=3.0)).trace)
    assert reference_from(curve, curve).problem is None
    assert reference_from(curve, other).problem
    assert reference_from(curve, Curve(points={})).problem
    assert reference_from(Curve(points={}), Curve(points={})).problem


def test_the_reference_itself_is_judged_without_one() -> None:
    given = evidence(*STEPS, reference=None)
    assert judge(given, ()).verdict is Verdict.CLEAN
    assert judge(evidence(*STEPS, reference=REFERENCE), ()).verdict is Verdict.CLEAN


SUMMARY = {
    "draft_slots_per_s": 2.0, "context_tokens_per_s": 2.0, "rows_per_s": 2.0, "tflops": 1.0,
    "mfu": None, "oversubscribed": True, "peak_memory_bytes": 1,
}  # fmt: skip


def speed_of(*events: Event) -> Throughput:
    found = judge(evidence(*STEPS, *events), ()).throughput
    assert found is not None
    return found


def test_shares_of_the_interpreter_lock_are_part_of_the_speed() -> None:
    summary = event("summary", **SUMMARY)
    sampled = event("gil", shares={"drafter-0": 0.5}, looks=100, rate=100)
    assert speed_of(summary).gil_share is None
    assert speed_of(sampled, summary).gil_share == {"drafter-0": 0.5}


def test_what_queues_say_joins_what_drafters_measured() -> None:
    said = [
        DrafterSpeed(
            drafter=n, draft_slots_per_s=1.0, step_ms=9.0, queue_wait=0.5, lock_wait=0.1,
            handoff_ms=0.2,
        )
        for n in (0, 1)
    ]  # fmt: skip
    summary = event("summary", **SUMMARY, drafters=[asdict(one) for one in said])
    full = event("queue", drafter=1, full_s=3.5, empty_s=0.0, depths={})
    assert speed_of(summary).drafters == tuple(said)
    assert speed_of(full, summary).drafters == (said[0], replace(said[1], queue_full_s=3.5))
    assert speed_of(full, event("summary", **SUMMARY)).drafters == ()
