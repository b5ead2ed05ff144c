"""Records with every field filled, for the store's tests."""

from __future__ import annotations

from fxrace.records.environment import Environment
from fxrace.records.finding import Finding, Frame, Side, Tier, Value
from fxrace.records.outcome import Ending, Outcome, Stop, ThreadStack, Throughput
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict


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
