"""fp32 on the CPU; on a GPU bf16 throughout, with fp32 masters of the drafter's weights."""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.formats import Formats


def build() -> Formats:
    return Formats(
        on_cpu=(torch.float32, torch.float32),
        elsewhere=(torch.bfloat16, torch.bfloat16),
        masters=True,
    )


part = Part(build=build, default=True)
