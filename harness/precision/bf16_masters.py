"""bf16 weights and activations, fp32 masters in the optimizer, on every device."""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.formats import Formats, alike


def build() -> Formats:
    return alike(torch.bfloat16, torch.bfloat16, masters=True)


part = Part(build=build)
