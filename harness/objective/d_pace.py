"""D-PACE: a slot counts by how much of the block's expected acceptance hangs on it.

With q_i = alpha + (1 - alpha) p(label of slot i), detached, slot j weighs sum over m >= j of the
product of q_i over i <= m. A block ends at its first unsupervised slot, as acceptance does.
Source: arXiv 2605.18810.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.config import Preset

ALPHA = 0.5


class DPace:
    """Replaces the fixed decay; what is not supervised stays at 0."""

    def weigh(self, entropy: Tensor, weights: Tensor) -> Tensor:
        likely = torch.exp(-entropy.detach())
        chances = (ALPHA + (1 - ALPHA) * likely) * (weights > 0)
        reached = chances.cumprod(dim=-1)
        return reached.flip(-1).cumsum(dim=-1).flip(-1) * (weights > 0)


def build(preset: Preset) -> DPace:  # noqa: ARG001 - needs nothing of it
    return DPace()


part = Part(build=build)
