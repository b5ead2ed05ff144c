"""Compiled flex_attention with a code object per drafter and shape: no shared recompile limit.

What ``flex`` loses after eight entries for all drafters together, this never reaches: three
drafters on three devices with three row lengths compile nine times and stay fused.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from fxrace.probe.part import Part
from harness.compiling import compiled
from harness.contracts import Tracing
from harness.figures.counters import Counters
from harness.kernels.block_mask import BlockMasks
from harness.kernels.flex_path import prepare


class FlexIsolated:
    """One drafter's compiled attentions, by shape of the keys."""

    fused = True
    tracing = Tracing.PER_KEY

    def __init__(
        self,
        device: torch.device,
        counters: Counters,
        mode: str | None,
        options: dict[str, Any] | None,
    ) -> None:
        prepare(device, counters)
        self._masks = BlockMasks()
        self._device, self._mode, self._options = device, mode, options or None
        self._made: dict[tuple[int, ...], Any] = {}

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any:
        return self._masks.of(anchors, keep, context, block, since)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: Any) -> Tensor:
        shape = tuple(k.shape)
        if shape not in self._made:
            self._made[shape] = compiled(flex_attention, self._device, self._mode)
        out: Tensor = self._made[shape](
            q, k, v, block_mask=plan, enable_gqa=True, kernel_options=self._options
        )
        return out


def build(
    device: torch.device,
    drafter: int,  # noqa: ARG001 - one each, all alike
    counters: Counters,
    mode: str | None = None,
    kernel_options: dict[str, Any] | None = None,
) -> FlexIsolated:
    return FlexIsolated(device, counters, mode, kernel_options)


part = Part(build=build)
