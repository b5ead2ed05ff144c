"""bf16 everywhere, the optimizer too: small updates vanish, which is what it is there to show."""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.formats import Formats, alike


def build() -> Formats:
    return alike(torch.bfloat16, torch.bfloat16, masters=False)


part = Part(build=build)
