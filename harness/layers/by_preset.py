"""What the preset says: compiled for the paper presets, plain for those that show races."""

from __future__ import annotations

import torch

from fxrace.probe.part import Part
from harness.compiling import Run, at_home
from harness.config import Preset
from harness.contracts import Layers
from harness.layers.compiled import Compiled
from harness.layers.plain import Plain


def build(
    preset: Preset,
    device: torch.device | None = None,
    run: Run = at_home,
    mode: str | None = None,
) -> Layers:
    return Compiled(preset, device, run, mode) if preset.compiled_layers else Plain()


part = Part(build=build, default=True)
