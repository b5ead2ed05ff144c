"""Cross entropy with weights that decay along the block, as published.

The decay exp(-(k - 1) / gamma) is in the weights already (``harness.model.anchors``).
"""

from __future__ import annotations

from torch import Tensor

from fxrace.probe.part import Part
from harness.config import Preset


class Decayed:
    """The weights as they come."""

    def weigh(self, entropy: Tensor, weights: Tensor) -> Tensor:  # noqa: ARG002 - a fixed decay
        return weights


def build(preset: Preset) -> Decayed:  # noqa: ARG001 - needs nothing of it
    return Decayed()


part = Part(build=build, default=True)
