"""The summary of a run: steady-state rates over all drafters, memory, and who finished.

A drafter's rate is taken over the median time between the ends of its steps, without its first
step and without those in which its thread compiled. Where every step compiled, all but the
first count. Drafters that did not finish contribute nothing.
"""

from __future__ import annotations

import resource
import statistics
import sys
from collections.abc import Sequence
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
    preset = plan.preset
    peak = peak_flops(plan.drafter_devices)
    done = sum(
        _rate(mine, [flops.step_flops(preset, turn.context) for turn in mine]) for mine in finished
    )
    return Summary(
        steps=sum(map(len, turns)),
        drafters_done=len(finished),
        draft_slots_per_s=sum(_rate(mine, [turn.slots for turn in mine]) for mine in finished),
        context_tokens_per_s=sum(
            _rate(mine, [preset.rows * turn.context for turn in mine]) for mine in finished
        ),
        rows_per_s=sum(_rate(mine, [preset.rows] * len(mine)) for mine in finished),
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


def _rate(turns: Sequence[Turn], amounts: Sequence[float]) -> float:
    """Mean amount per step over the median time of a step; 0 without steps."""
    if not turns:
        return 0.0
    return statistics.fmean(amounts) / statistics.median(turn.step_s for turn in turns)
