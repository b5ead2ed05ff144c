"""Records with every field filled, for the store's tests."""

from __future__ import annotations

from fxrace.records.environment import Environment
from fxrace.records.finding import Finding, Frame, Side, Tier, Value
from fxrace.records.outcome import DrafterSpeed, Ending, Outcome, Stop, ThreadStack, Throughput
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict

DRAFTER = DrafterSpeed(
    drafter=1,
    draft_slots_per_s=2800.0,
    step_ms=12.5,
    queue_wait=0.25,
    lock_wait=0.5,
    handoff_ms=0.3,
    queue_full_s=1.5,
)
OLDER = (
    '{"verdict":"CLEAN","symptom":"","duration_s":29.977,"throughput":{"draft_slots_per_s":5108.5,'
    '"context_tokens_per_s":7781.5,"rows_per_s":95.5,"tflops":0.0017,"mfu":null,'
    '"oversubscribed":true,"hfu":null,"anchors_per_s":764.25,"windows":{"median":4303.2,"low":'
    '3012.0,"high":7617.25,"n":11},"gil_share":null},"compiles":0,"peak_memory_bytes":1021702144,'
    '"notes":["each slot is a process"]}'
)


def environment(torch: str = "2.13.0") -> Environment:
    return Environment(
        fxrace="0.1.0",
        python="3.11.7",
        torch=torch,
        implementation="CPython",
        platform="Linux x86_64",
        cpu_count=2,
        gpus=("NVIDIA H200",),
        gil=True,
        executable="/usr/bin/python",
        sources="0123456789abcdef",
    )


def trial(seed: int = 0) -> Trial:
    return Trial(
        target="harness.loop:run",
        knobs={"locking": "none", "checkpoint": "reentrant"},
        settings={"preset": "tiny", "steps": 3, "freeze": False, "note": None},
        seed=seed,
    )


def outcome(verdict: Verdict = Verdict.RAISED) -> Outcome:
    return Outcome(
        verdict=verdict,
        symptom="RuntimeError: FX \udc80 tracing",
        duration_s=1.5,
        throughput=Throughput(
            draft_slots_per_s=2800.0,
            context_tokens_per_s=1.0,
            rows_per_s=2.0,
            tflops=3.0,
            mfu=None,
            oversubscribed=True,
            drafters=(DRAFTER,),
        ),
        compiles=3,
        notes=("one",),
    )


def ending(stop: Stop = Stop.SILENT) -> Ending:
    frame = Frame(file="/a.py", line=3, function="f")
    stack = ThreadStack(thread="drafter 0", ident=7, frames=(frame,), source="py-spy")
    return Ending(
        stop=stop,
        code=9,
        duration_s=1.0,
        overhead_s=0.1,
        stacks=(stack,),
        stderr_tail="last",
        blind=(("py-spy", "refused"),),
    )


def finding(fingerprint: str = "abc") -> Finding:
    frame = Frame(file="/a.py", line=3, function="f")
    return Finding(
        fingerprint=fingerprint,
        title="t",
        tier=Tier.RACE,
        state="torch.fx:x",
        hazard=None,
        sides=(Side(thread="a", region="trace", access="write", stack=(frame,)),),
        symptoms=("s",),
        value=Value(before="1"),
    )
