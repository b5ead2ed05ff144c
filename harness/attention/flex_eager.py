"""flex_attention without torch.compile: dense, and it traces again on every call.

"Uncompiled" still enters Dynamo and, with gradients, one FX trace per call, for ever: no
warm-up helps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from fxrace.probe.part import Part
from harness.contracts import Tracing
from harness.figures.counters import Counters
from harness.kernels.block_mask import BlockMasks
from harness.kernels.flex_path import prepare


class FlexEager:
    """Calls flex_attention as it is."""

    fused = False
    tracing = Tracing.EVERY_CALL

    def __init__(self, device: torch.device, counters: Counters) -> None:
        prepare(device, counters)
        self._masks = BlockMasks()

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any:
        return self._masks.of(anchors, keep, context, block, since)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: Any) -> Tensor:
        out: Tensor = flex_attention(q, k, v, block_mask=plan, enable_gqa=True)
        return out


def build(device: torch.device, drafter: int, counters: Counters) -> FlexEager:  # noqa: ARG001
    return FlexEager(device, counters)


part = Part(build=build, default=True)
