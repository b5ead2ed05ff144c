"""``torch.profiler.profile`` round an operator."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def run(_: Any) -> Any:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ones(2).sin()
    return "aten::sin" in {event.key for event in profile.key_averages()}


operation = Operation(run=run, cost=Cost.MEDIUM)
