"""All logits at once, one chunk: the reference, and the largest tensor of the step.

The one chunk goes through the checkpoint part like any other.
"""

from __future__ import annotations

from dataclasses import replace

from fxrace.probe.part import Part
from harness.config import Preset
from harness.loss.chunked import Chunked
from harness.numerics import Objective


def build(preset: Preset, objective: Objective | None = None) -> Chunked:
    return Chunked(replace(preset, chunk_blocks=preset.drafter.anchors), objective)


part = Part(build=build)
