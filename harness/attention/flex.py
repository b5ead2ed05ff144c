"""Compiled flex_attention, one compiled function per drafter; dense once the limit is reached.

Backend ``inductor`` on CUDA, ``aot_eager`` on the CPU, where inductor cannot train it; static
shapes. Not ``fullgraph``, as in the field: after the recompile limit (8 for all drafters
together, since they share flex_attention's code object) it silently runs uncompiled.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from fxrace.probe.part import Part
from harness.compiling import backend
from harness.contracts import Tracing
from harness.figures.counters import Counters
from harness.kernels.block_mask import BlockMasks
from harness.kernels.flex_path import prepare


class Flex:
    """One drafter's compiled attention."""

    fused = True
    tracing = Tracing.PER_KEY

    def __init__(
        self,
        device: torch.device,
        counters: Counters,
        *,
        mode: str | None = None,
        kernel_options: dict[str, Any] | None = None,
    ) -> None:
        prepare(device, counters)
        self._masks = BlockMasks()
        self._flex: Any = torch.compile(flex_attention, dynamic=False, **backend(device, mode))
        self._options = kernel_options or None

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any:
        return self._masks.of(anchors, keep, context, block, since)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: Any) -> Tensor:
        out: Tensor = self._flex(
            q, k, v, block_mask=plan, enable_gqa=True, kernel_options=self._options
        )
        return out


def build(
    device: torch.device,
    drafter: int,  # noqa: ARG001 - one each, all alike
    counters: Counters,
    mode: str | None = None,
    kernel_options: dict[str, Any] | None = None,
) -> Flex:
    return Flex(device, counters, mode=mode, kernel_options=kernel_options)


part = Part(build=build, default=True)
