"""Every detector: one trace that makes it fire, one that must leave it silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fxrace.core.attribute import attributed
from fxrace.core.curve import Reference
from fxrace.core.detect import detectors, findings_in
from fxrace.core.evidence import Evidence
from fxrace.pipeline import hazards
from fxrace.records.finding import Frame, Tier
from fxrace.records.outcome import Stop, ThreadStack
from tests.unit.core.evidence_of import REFERENCE, STEPS, event, evidence, region, span, step
from tests.unit.core.samples_of_races import FIRES as RACES_FIRE
from tests.unit.core.samples_of_races import SILENT as RACES_SILENT

USER = ["/home/me/train.py", 12, "train"]
WRAPPER = ["/lib/torch/_dynamo/eval_frame.py", 1120, "compile_wrapper"]
PATCHER = ["/lib/torch/fx/_symbolic_trace.py", 1231, "_new_patcher"]
TRACING = {"thread": "drafter-0", "region": "trace", "frames": [USER, PATCHER]}


def raised(*frames: list[Any], message: str = "m", others: tuple[Any, ...] = ()) -> Any:
    error = {"type": "RuntimeError", "message": message, "frames": list(frames), "causes": []}
    return event("raised", "drafter-1", role="drafter-1", error=error, others=list(others))


def attention(fused: bool, dense: int) -> Any:
    return event("attention", calls={"drafter-0": 8}, dense={"drafter-0": dense}, fused=fused)


def plain(distance: float, where: str = "layers.0.w") -> Any:
    return event("plain", distance=distance, where=where, context=64, allowed=0.01)


def met(*others: dict[str, Any]) -> Any:
    return event("met", state="fx.tracing_flag", frames=[USER, WRAPPER], others=list(others))


def wait(thread: str, lock: str, owner: str) -> Any:
    return event("lock", thread, edge="wait", lock=lock, owner=owner)


STACKS = tuple(
    ThreadStack(
        thread=f"drafter-{i}",
        ident=i,
        frames=(Frame(file="/home/me/train.py", line=i, function="step"),),
        source="py-spy",
    )
    for i in (0, 1)
)

FIRES: dict[str, Evidence] = {
    **RACES_FIRE,
    "meeting": evidence(met(TRACING)),
    "exclusive": evidence(event("exclusive", name="n", frames=[USER], others=[TRACING])),
    "exception": evidence(raised(USER, WRAPPER, others=(TRACING,))),
    "leak": evidence(event("leak", state="fx.patcher", attribute="a:b", before="None", after="x")),
    "departure": evidence(*STEPS[1:], step(0, 0, loss=3.9)),
    "dense": evidence(*STEPS, attention(fused=True, dense=3)),
    "unlike_plain": evidence(*STEPS, plain(0.4)),
    "unfinished": evidence(*STEPS[:3]),
    "crash": evidence(stop=Stop.SIGNALLED, code=6, complete=False),
    "hang": evidence(
        wait("drafter-0", "b", "drafter-1"), wait("drafter-1", "a", "drafter-0"),
        stop=Stop.SILENT, stacks=STACKS, complete=False,
    ),
}  # fmt: skip

SILENT: dict[str, Evidence] = {
    **RACES_SILENT,
    "meeting": evidence(*STEPS),
    "exclusive": evidence(*STEPS),
    "exception": evidence(*STEPS),
    "leak": evidence(*STEPS),
    "departure": evidence(*STEPS[1:], step(0, 0, loss=4.0 * (1 + 1e-4))),
    "dense": evidence(*STEPS, attention(fused=False, dense=8)),
    "unlike_plain": evidence(*STEPS, plain(0.01)),
    "unfinished": evidence(*STEPS[:3], raised(USER)),
    "crash": evidence(*STEPS),
    "hang": evidence(wait("drafter-0", "b", "drafter-1"), stop=Stop.TIMED_OUT, complete=False),
}


def test_every_detector_has_both() -> None:
    assert set(FIRES) == set(SILENT) == set(detectors())


@pytest.mark.parametrize("name", sorted(FIRES))
def test_fires(name: str) -> None:
    assert detectors()[name].find(FIRES[name])


@pytest.mark.parametrize("name", sorted(SILENT))
def test_stays_silent(name: str) -> None:
    assert detectors()[name].find(SILENT[name]) == ()


def test_other_parts_that_are_wrong_alone_are_another_cause() -> None:
    def wrong_with(attention: str) -> str:
        found = evidence(*STEPS, plain(0.4))
        trial = replace(found.trial, knobs={**found.trial.knobs, "attention": attention})
        (finding,) = findings_in(replace(found, trial=trial))
        return finding.fingerprint

    assert wrong_with("flex") == wrong_with("flex") != wrong_with("mine")


def test_a_wrong_target_is_another_cause_than_a_wrong_drafter() -> None:
    (drafter,), (target,) = (
        findings_in(evidence(*STEPS, plain(0.4, where))) for where in ("layers.0.w", "features")
    )
    assert drafter.fingerprint != target.fingerprint
    assert "target" in target.symptoms[0] and "target" in target.sides[0].access


def test_an_exception_names_the_state_and_both_sides() -> None:
    (finding,) = findings_in(FIRES["exception"])
    assert finding.state == "fx.tracing_flag"
    assert finding.tier is Tier.FAILURE
    assert [side.thread for side in finding.sides] == ["drafter-1", "drafter-0"]
    assert [side.region for side in finding.sides] == ["call", "trace"]
    assert all(side.stack for side in finding.sides)


def crashed(function: str, *events: Any) -> Any:
    """A process in which ``drafter-1`` died in this function of FakeTensorMode's file."""
    ident = event("note", "drafter-1").ident
    fake = Frame(file="/lib/torch/_subclasses/fake_tensor.py", line=1446, function=function)
    died = replace(STACKS[1], ident=ident, frames=(*STACKS[1].frames, fake), source="faulthandler")
    return evidence(*events, stop=Stop.SIGNALLED, code=11, complete=False, stacks=(died, STACKS[0]))


def test_a_crash_names_who_died_and_who_was_inside_of_something() -> None:
    mine = region("drafter-1", "enter", "compile", 1)
    over = span("drafter-2", "trace", 2)
    inside = (
        region("drafter-0", "enter", "trace", 3),
        region("drafter-0", "enter", "compile", 4),
    )
    (finding,) = (f for f in findings_in(crashed("dispatch", mine, *over, *inside))
                  if f.pattern == "crash")  # fmt: skip
    assert [(s.thread, s.region) for s in finding.sides] == [
        ("drafter-1", "crash"), ("drafter-0", "compile"),
    ]  # fmt: skip
    assert finding.sides[0].stack[-1].function == "dispatch"


def test_a_process_killed_without_a_word_is_no_threads_fault() -> None:
    """As by the kernel, for lack of memory: who stood in a region is shown, not blamed."""
    inside = region("drafter-0", "enter", "compile", 1)
    killed = evidence(inside, stop=Stop.SIGNALLED, code=9, complete=False)
    (finding,) = (f for f in findings_in(killed) if f.pattern == "crash")
    assert [(s.thread, s.region) for s in finding.sides] == [
        ("process", "crash"), ("drafter-0", "compile"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "hazard"),
    [("__enter__", "dynamo-device-guard-of-ended-thread"), ("dispatch", None)],
)
def test_where_a_process_died_tells_of_what(function: str, hazard: str | None) -> None:
    (named,) = attributed(findings_in(crashed(function)), hazards())
    assert named.hazard == hazard
    again, caller = crashed(function), Frame(file="/home/me/serve.py", line=1, function="serve")
    elsewhere = replace(STACKS[0], frames=(caller, named.sides[0].stack[-1]))
    (other,) = findings_in(replace(again, ending=replace(again.ending, stacks=(elsewhere,))))
    assert (other.fingerprint == named.fingerprint) == (hazard is not None)


@pytest.mark.parametrize(
    ("message", "region"),
    [
        ("CUDA error: operation not permitted when stream is capturing\nSearch for", "cudagraph"),
        ("CUDA error: operation failed due to a previous error during capture\n", "cudagraph"),
        ("CUDA error: out of memory\nwhile capturing", "call"),
        ("what the hook captured is stale", "call"),
    ],
)
def test_cuda_says_itself_that_a_stream_was_being_captured(message: str, region: str) -> None:
    found = findings_in(evidence(raised(USER, message=message)))
    assert found[0].sides[0].region == region
    (named,) = attributed(found, hazards())
    assert named.hazard == ("cuda-graph-capture-invalidated" if region == "cudagraph" else None)


def test_threads_that_spoil_a_capture_are_sides_of_one_finding() -> None:
    way, captured = (
        raised(USER, frame, message=f"CUDA error: {told}\nand more")
        for frame, told in (
            (PATCHER, "operation not permitted when stream is capturing"),
            (WRAPPER, "operation failed due to a previous error during capture"),
        )
    )
    both = findings_in(evidence(way, captured, raised(USER, message="another")))
    assert len(both) == 2
    (spoiled,) = (finding for finding in both if finding.sides[0].region == "cudagraph")
    assert [side.stack[-1].function for side in spoiled.sides] == [PATCHER[2], WRAPPER[2]]
    assert len(spoiled.symptoms) == 2 and spoiled.state is None
    # Which of them raises first, or alone, is up to the scheduler; the cause is one.
    for order in ((captured, way), (way,), (captured,)):
        (again,) = findings_in(evidence(*order))
        assert again.fingerprint == spoiled.fingerprint


def test_the_cause_is_found_below_a_wrapping_error() -> None:
    inner = {"type": "AssertionError", "message": "x", "frames": [USER, PATCHER]}
    outer = {"type": "TorchRuntimeError", "message": "y", "frames": [USER], "causes": [inner]}
    found = findings_in(
        evidence(event("raised", role="drafter-0", error=outer, others=[]), reference=None)
    )
    assert [finding.state for finding in found] == ["fx.patcher"]


def test_one_cause_is_one_fingerprint_whatever_the_text_and_the_line() -> None:
    moved = [WRAPPER[0], WRAPPER[1] + 300, WRAPPER[2]]
    first, second = (
        findings_in(evidence(raised(USER, WRAPPER, message="one"))),
        findings_in(evidence(raised(["/other/program.py", 1, "main"], moved, message="two"))),
    )
    assert [f.fingerprint for f in first] == [f.fingerprint for f in second]


def test_different_unknown_causes_stay_apart() -> None:
    found = findings_in(evidence(raised(USER), raised(["/home/me/train.py", 9, "evaluate"])))
    assert len(found) == 2


def test_equal_causes_in_one_trial_are_one_finding_with_all_symptoms() -> None:
    found = findings_in(evidence(raised(WRAPPER, message="a"), raised(WRAPPER, message="b")))
    assert len(found) == 1
    assert len(found[0].symptoms) == 2


def test_a_circle_of_waits_is_a_deadlock_with_both_stacks() -> None:
    (finding,) = (f for f in findings_in(FIRES["hang"]) if f.pattern == "hang")
    assert finding.title.startswith("deadlock")
    assert {side.thread for side in finding.sides} == {"drafter-0", "drafter-1"}
    assert all(side.stack for side in finding.sides)


def test_waits_that_ended_close_no_circle() -> None:
    got = event("lock", "drafter-0", edge="got", lock="b", owner=None)
    found = findings_in(
        evidence(
            wait("drafter-0", "b", "drafter-1"), got, wait("drafter-1", "a", "drafter-0"),
            stop=Stop.SILENT, stacks=STACKS, complete=False,
        )
    )  # fmt: skip
    assert [f.title.partition(":")[0] for f in found if f.pattern == "hang"] == ["hang"]


def test_nothing_is_compared_with_a_reference_that_differs_from_itself() -> None:
    bad = Reference(curve=REFERENCE.curve, problem="differs")
    assert findings_in(evidence(step(0, 0, loss=1.0), reference=bad)) == ()


def leak(state: str) -> Any:
    return event("leak", state=state, attribute=f"m:{state}", before="None", after="x")


def test_what_a_failure_left_behind_is_its_symptom() -> None:
    alone = findings_in(evidence(raised(PATCHER)))
    found = findings_in(evidence(raised(PATCHER), leak("nn.module_call"), leak("fx.patcher")))
    assert [f.fingerprint for f in found] == [f.fingerprint for f in alone]
    assert len(found[0].symptoms) == 3


def test_leaks_without_a_failure_are_one_cause_per_kind_of_region() -> None:
    found = findings_in(
        evidence(*STEPS, leak("nn.module_call"), leak("fx.patcher"), leak("compiler.is_compiling"))
    )
    assert [f.tier for f in found] == [Tier.LEAK, Tier.LEAK]


def test_a_leak_of_another_region_stays_a_finding_of_its_own() -> None:
    found = findings_in(evidence(raised(PATCHER), leak("compiler.is_compiling")))
    assert [f.pattern for f in found] == ["exception", "leak"]
