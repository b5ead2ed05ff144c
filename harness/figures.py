"""The summary of a run: steady-state rates over all drafters, memory, and who finished.

What is counted are the steps of drafters that finished, without their first and without those
in which their thread compiled; where every step compiled, all but the first count. What it is
divided by is the time during which any of those steps ran. (Adding up each drafter's own rate
would make drafters that run one after the other look three times as fast.)
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import torch

from fxrace.probe.recorder import Recorder
from harness import flops
from harness.config import Plan
from harness.contracts import Summary
from harness.devices import peak_flops
from harness.roles import Trainer, Turn


def record_summary(recorder: Recorder, plan: Plan, trainers: Sequence[Trainer]) -> None:
    """Emit the ``summary`` event."""
    recorder.emit("summary", **asdict(summarise(plan, [trainer.turns for trainer in trainers])))


def summarise(plan: Plan, turns: Sequence[Sequence[Turn]]) -> Summary:
    """The figures of a run from each drafter's finished steps, in order."""
    finished = [steady(mine) for mine in turns if len(mine) == plan.steps]
    preset, peak = plan.preset, peak_flops(plan.drafter_devices)
    counted = [turn for mine in finished for turn in mine]
    elapsed = covered([(turn.began_s, turn.ended_s) for turn in counted])

    def rate(amount: float) -> float:
        return amount / elapsed if elapsed else 0.0

    done = rate(sum(flops.step_flops(preset, turn.context) for turn in counted))
    return Summary(
        steps=sum(map(len, turns)),
        drafters_done=len(finished),
        draft_slots_per_s=rate(sum(turn.slots for turn in counted)),
        context_tokens_per_s=rate(sum(preset.rows * turn.context for turn in counted)),
        rows_per_s=rate(preset.rows * len(counted)),
        tflops=done / 1e12,
        mfu=done / peak if peak else None,
        peak_memory_bytes=peak_memory(plan),
        oversubscribed=plan.oversubscribed,
    )


def steady(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The steps that show a drafter's speed; never empty unless ``turns`` is."""
    later = turns[1:]
    return [turn for turn in later if not turn.compiled] or later or turns


def peak_memory(plan: Plan) -> int:
    """Bytes: allocated on all CUDA devices in use, each at its peak, else of the process."""
    devices = {*plan.target_devices, *plan.drafter_devices}
    if plan.device_type == "cuda":
        return sum(torch.cuda.max_memory_allocated(device) for device in devices)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds covered by at least one of these spans."""
    total, reached = 0.0, float("-inf")
    for began, ended in sorted(spans):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total
