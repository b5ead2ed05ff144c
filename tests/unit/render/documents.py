"""Synthetic sweep documents: realistic enough to look at, deterministic enough to assert on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import replace

from fxrace.core.interval import spread, wilson
from fxrace.records.document import CellRow, FindingRow, SweepDocument, TrialRow
from fxrace.records.environment import Environment
from fxrace.records.finding import Frame, Side, Tier, Value
from fxrace.records.outcome import DrafterSpeed, ThreadStack, Throughput
from fxrace.records.verdict import Verdict

AXES: Mapping[str, tuple[str, ...]] = {
    "attention": ("flex_aot_eager", "flex_eager"),
    "checkpoint": ("nonreentrant", "off", "reentrant"),
    "execution": ("threads",),
    "locking": ("none", "exec_lock", "whole_step"),
    "loss": ("chunked",),
    "pressure": ("hold", "none"),
    "warmup": ("main_thread", "none", "serial_per_drafter"),
}
FX_ERROR = (
    "RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized "
    "function. This is not supported at the moment."
)
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"
HARNESS = "/opt/venv/lib/python3.11/site-packages/fxrace/_bundled/harness/"

STACK_A = (
    Frame(file="/usr/lib/python3.11/threading.py", line=1002, function="_bootstrap"),
    Frame(file=HARNESS + "crew.py", line=88, function="Drafter.run"),
    Frame(file=HARNESS + "loop.py", line=141, function="Drafter.step"),
    Frame(file=TORCH + "_dynamo/eval_frame.py", line=832, function="compile_wrapper"),
    Frame(file=TORCH + "_dynamo/convert_frame.py", line=1271, function="_compile"),
    Frame(file=TORCH + "_higher_order_ops/flex_attention.py", line=402, function="trace_flex"),
    Frame(file=TORCH + "fx/experimental/proxy_tensor.py", line=2290, function="make_fx.trace"),
    Frame(file=TORCH + "fx/_symbolic_trace.py", line=839, function="Tracer.trace"),
)
STACK_B = (
    Frame(file=HARNESS + "crew.py", line=88, function="Drafter.run"),
    Frame(file=HARNESS + "checkpoint/reentrant.py", line=31, function="Reentrant.chunk"),
    Frame(file=HARNESS + "attention/flex_aot_eager.py", line=57, function="Attend.attend"),
    Frame(file=TORCH + "_dynamo/eval_frame.py", line=841, function="compile_wrapper"),
)


def environment() -> Environment:
    return Environment(
        fxrace="0.1.0", python="3.11.9", torch="2.12.0+cpu", implementation="CPython",
        platform="Linux-6.1-x86_64", cpu_count=2, gpus=(), gil=True,
        executable="/opt/venv/bin/python", sources="9f3a1c5577e0b2d4",
    )  # fmt: skip


def trial(knobs: Mapping[str, str], number: int, verdict: Verdict, **changes: object) -> TrialRow:
    digest = f"{number:016x}"
    speed = 900.0 + 37 * (number % 29)
    values: dict[str, object] = {
        "digest": digest,
        "knobs": knobs,
        "seed": 0,
        "repeat": 0,
        "verdict": verdict,
        "symptom": "" if verdict is Verdict.CLEAN else FX_ERROR,
        "duration_s": 4.0 + number % 7,
        "findings": (),
        "throughput": throughput(speed) if verdict is Verdict.CLEAN else None,
        "compiles": 9,
        "peak_memory_bytes": 412 * 2**20,
        "notes": (),
        "replay": f"fxrace replay {digest} -o fxrace-out",
    }
    return TrialRow(**{**values, **changes})  # type: ignore[arg-type]


def finding(trials: tuple[str, ...], **changes: object) -> FindingRow:
    values: dict[str, object] = {
        "fingerprint": "fx.flag:5c0d8e1a",
        "title": "RACE fx.flag: flex_attention trace vs compiled call",
        "tier": Tier.FAILURE,
        "state": "torch.fx._symbolic_trace:_is_fx_tracing_flag",
        "hazard": None,
        "sides": (
            Side(thread="drafter-0", region="trace", access="write True", stack=STACK_A,
                 locks_held=("exec_lock", "compile_lock")),
            Side(thread="drafter-1", region="compiled call", access="read True", stack=STACK_B),
        ),
        "symptoms": (FX_ERROR,),
        "value": Value(before="False", during="True", after="False"),
        "token": "",
        "replay": f"fxrace replay {trials[0] if trials else '0' * 16} -o fxrace-out --repeat 5",
        "repro": None,
        "reliability": wilson(len(trials), len(trials)),
        "remedy": "locking=whole_step survived 4 of 4 trials at 1203 draft slots/s in this run",
        "references": ("pytorch/pytorch#126024",),
        "trials": trials,
    }  # fmt: skip
    return FindingRow(**{**values, **_pattern(), **changes})  # type: ignore[arg-type]


def sweep(*, repeats: int = 3, axes: Mapping[str, tuple[str, ...]] = AXES) -> SweepDocument:
    """A full sweep with the verdicts of a plausible torch 2.12: the lock round a step holds."""
    chance = random.Random(7)
    rows = []
    for repeat in range(repeats):
        for values in itertools.product(*axes.values()):
            knobs = dict(zip(axes, values, strict=True))
            verdict = _plausible(knobs, chance)
            stacks = _stuck() if verdict is Verdict.HUNG else ()
            more = {"symptom": "no event for 20 s: drafter-0 waits for compile_lock"}
            rows.append(
                trial(knobs, len(rows) + 1, verdict, repeat=repeat, stacks=stacks,
                      **(more if stacks else {}))
            )  # fmt: skip
    return document(rows, axes=axes)


def document(
    rows: list[TrialRow], *, axes: Mapping[str, tuple[str, ...]] = AXES, **changes: object
) -> SweepDocument:
    """A consistent document around these trials: cells counted, one finding for the raised."""
    oracle = {**{axis: values[0] for axis, values in axes.items()}, "execution": "oracle"}
    references = [trial(oracle, 9000 + n, Verdict.CLEAN, repeat=n) for n in range(2)]
    raised = tuple(row.digest for row in rows if row.verdict is Verdict.RAISED)
    values: dict[str, object] = {
        "schema": "fxrace.sweep",
        "schema_version": 1,
        "run": "2026-11-29-213059-ab12",
        "environment": environment(),
        "settings": {"preset": "tiny", "targets": 5, "drafters": 3, "device": "cpu",
                     "steps": None, "freeze": False, "oversubscribed": True},
        "axes": axes,
        "trials": (*references, *(_caused(row) for row in rows)),
        "cells": cells(rows),
        "findings": (finding(raised),) if raised else (),
        "blind": (("thread stacks", "py-spy may not attach: ptrace is restricted"),),
        "interrupted": False,
        "report": None,
    }  # fmt: skip
    return SweepDocument(**{**values, **changes})  # type: ignore[arg-type]


def _caused(row: TrialRow) -> TrialRow:
    known = row.findings or row.verdict is not Verdict.RAISED
    return row if known else replace(row, findings=("fx.flag:5c0d8e1a",))


def cells(rows: list[TrialRow]) -> tuple[CellRow, ...]:
    groups: dict[tuple[tuple[str, str], ...], list[TrialRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row.knobs.items()), []).append(row)
    return tuple(_cell(members) for members in groups.values())


def _cell(rows: list[TrialRow]) -> CellRow:
    verdicts: dict[str, int] = {}
    for row in rows:
        verdicts[row.verdict.value] = verdicts.get(row.verdict.value, 0) + 1
    conclusive = [row for row in rows if row.verdict.conclusive]
    speeds = [row.throughput.draft_slots_per_s for row in rows if row.throughput]
    return CellRow(
        knobs=rows[0].knobs,
        verdicts=verdicts,
        failure_rate=wilson(sum(row.verdict.failed for row in conclusive), len(conclusive)),
        throughput=spread(speeds),
    )


def _plausible(knobs: Mapping[str, str], chance: random.Random) -> Verdict:
    if knobs["locking"] == "whole_step":
        return Verdict.CLEAN
    if knobs["attention"] == "flex_eager" and knobs["warmup"] == "main_thread":
        return Verdict.SKIPPED
    pressed = knobs["pressure"] == "hold"
    if knobs["locking"] == "none" and chance.random() < (0.9 if pressed else 0.4):
        return chance.choice([Verdict.RAISED, Verdict.RAISED, Verdict.HUNG, Verdict.WRONG])
    if knobs["checkpoint"] == "reentrant" and chance.random() < (0.8 if pressed else 0.3):
        return chance.choice([Verdict.RAISED, Verdict.RAISED, Verdict.CRASHED])
    return Verdict.CLEAN


def _stuck() -> tuple[ThreadStack, ...]:
    return (
        ThreadStack(thread="drafter-0", ident=11, frames=STACK_A, source="py-spy", holds_gil=True),
        ThreadStack(thread="drafter-1", ident=12, frames=STACK_B, source="py-spy"),
        ThreadStack(thread="autograd cuda:0", ident=13, frames=STACK_A[3:], source="py-spy"),
    )


def throughput(speed: float) -> Throughput:
    return Throughput(
        draft_slots_per_s=speed, context_tokens_per_s=speed * 0.4, rows_per_s=speed / 64,
        tflops=0.02, mfu=None, oversubscribed=True, drafters=drafters(3, speed),
    )  # fmt: skip


def drafters(number: int, speed: float = 900.0) -> tuple[DrafterSpeed, ...]:
    """So many, of which each waits longer for features than the one before."""
    return tuple(
        DrafterSpeed(
            drafter=one, draft_slots_per_s=speed / number, step_ms=160.0 + one,
            queue_wait=min(1.0, 0.1 + 0.3 * one), lock_wait=0.05, handoff_ms=0.4,
            queue_full_s=None if one else 7.5,
        )
        for one in range(number)
    )  # fmt: skip


def _pattern() -> dict[str, object]:
    names = {f.name for f in FindingRow.__dataclass_fields__.values()}
    return {"pattern": "failure"} if "pattern" in names else {}
