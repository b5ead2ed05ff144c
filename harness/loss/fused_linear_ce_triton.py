"""As fused_linear_ce, softmax and gradient by two kernels written for it: nothing is compiled.

GPUs only. The gradient takes the logits' place, so a chunk needs half of the memory.
"""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.compiling import Run, at_home
from harness.config import Preset
from harness.loss.fused_linear_ce import FusedLinearCE
from harness.numerics import Objective


def build(
    preset: Preset,
    objective: Objective | None = None,
    device: torch.device | None = None,
    run: Run = at_home,
) -> FusedLinearCE:
    from harness.kernels.softmax import Softmax  # Triton is there where GPUs are

    device = device or torch.device("cuda")
    return FusedLinearCE(
        preset, objective, run=run, shares=Softmax(device, preset.target.vocab).shares
    )


def refuse(device_type: str) -> str | None:
    return None if device_type == "cuda" else "its kernels are Triton's and need a GPU"


part = Part(build=build, refuse=refuse)
