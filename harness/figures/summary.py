"""The summary of a run: steady-state rates over all drafters, memory, and who finished.

What is counted are the steps of drafters that finished, without their first and without those
in which their thread compiled; where every step compiled, all but the first count. What it is
divided by is the time during which any of those steps ran. (Adding up each drafter's own rate
would make drafters that run one after the other look three times as fast.)
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import torch

from fxrace.probe.recorder import Recorder
from fxrace.records.outcome import DrafterSpeed
from harness.config import Plan
from harness.contracts import Summary
from harness.devices import peak_flops
from harness.figures import flops
from harness.figures.memory import predicted
from harness.figures.windows import covered, windows
from harness.roles import Turn

NOTHING = flops.Recomputed()


def record_summary(
    recorder: Recorder,
    plan: Plan,
    turns: Sequence[Sequence[Turn]],
    again: flops.Recomputed,
    *,
    memory: int,
) -> None:
    """Emit the ``summary`` event."""
    recorder.emit("summary", **asdict(summarise(plan, turns, again, memory=memory)))


def summarise(
    plan: Plan,
    turns: Sequence[Sequence[Turn]],
    again: flops.Recomputed = NOTHING,
    *,
    memory: int = 0,
) -> Summary:
    """The figures of a run from each drafter's finished steps, in order."""
    finished = {n: steady(mine) for n, mine in enumerate(turns) if len(mine) == plan.steps}
    preset, peak = plan.preset, peak_flops(plan.drafter_devices)
    counted = [turn for mine in finished.values() for turn in mine]
    elapsed = covered([(turn.began_s, turn.ended_s) for turn in counted])

    def rate(amount: float) -> float:
        return amount / elapsed if elapsed else 0.0

    done = rate(sum(flops.step_flops(preset, turn.context, turn.reach) for turn in counted))
    worked = rate(
        sum(flops.hardware_flops(preset, turn.context, again, turn.reach) for turn in counted)
    )
    width = 4 if plan.device_type == "cpu" else 2
    return Summary(
        steps=sum(map(len, turns)),
        drafters_done=len(finished),
        draft_slots_per_s=rate(sum(turn.slots for turn in counted)),
        context_tokens_per_s=rate(sum(preset.rows * turn.context for turn in counted)),
        rows_per_s=rate(preset.rows * len(counted)),
        tflops=done / 1e12,
        mfu=done / peak if peak else None,
        peak_memory_bytes=memory,
        oversubscribed=plan.oversubscribed,
        hfu=worked / peak if peak else None,
        anchors_per_s=rate(preset.rows * preset.drafter.anchors * len(counted)),
        windows=windows(counted),
        predicted_memory_bytes=predicted_memory(plan, width=width, again=again),
        drafters=tuple(speed_of(n, mine) for n, mine in finished.items() if mine),
    )


def speed_of(drafter: int, counted: Sequence[Turn]) -> DrafterSpeed:
    """Where this drafter's time went in these steps, of which there is at least one.

    What its queue knows is not known here. A share is of the time from the end of the step before
    the first to that of the last, without the steps that do not count.
    """
    taken = sum(turn.ended_s - turn.began_s for turn in counted)

    def share(seconds: float) -> float:
        return round(min(1.0, max(0.0, seconds / taken)), 4) if taken else 0.0

    return DrafterSpeed(
        drafter=drafter,
        draft_slots_per_s=sum(turn.slots for turn in counted) / taken if taken else 0.0,
        step_ms=round(1e3 * median(turn.ended_s - turn.began_s for turn in counted), 3),
        queue_wait=share(sum(turn.queue_s for turn in counted)),
        lock_wait=share(sum(turn.lock_wait_s for turn in counted)),
        handoff_ms=round(1e3 * median(turn.handoff_s for turn in counted), 3),
    )


def recomputed(checkpoint: Any, loss: Any) -> flops.Recomputed:
    """What these parts compute twice."""
    layers = bool(getattr(checkpoint, "recomputes", False))
    head = getattr(loss, "recomputes", None)
    return flops.Recomputed(layers=layers, head=layers if head is None else bool(head))


def predicted_memory(plan: Plan, *, width: int, again: flops.Recomputed = NOTHING) -> int:
    """Bytes over all slots; targets that share a device share their weights."""
    slot = predicted(plan.preset, width=width, recompute=again.layers)
    drafters, targets = len(plan.drafter_devices), len(set(plan.target_devices))
    return slot.drafter * drafters + slot.target * targets


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
