"""fp32 throughout, on every device."""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.formats import Formats, alike


def build() -> Formats:
    return alike(torch.float32, torch.float32, masters=False)


part = Part(build=build)
