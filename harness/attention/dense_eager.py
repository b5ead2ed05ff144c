"""Attention written out as matrix products and a softmax: no kernel, no compiler.

Scores of all Q x (S + Q) pairs exist in full, in the dtype of the queries, and are kept for
backward: what losing the fused kernel costs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.attention.dense import DensePlan, plan_from
from harness.contracts import Tracing
from harness.model.mask import dense_mask


class DenseEager:
    """Grouped queries by a view: keys and values are not repeated."""

    fused = False
    tracing = Tracing.NEVER

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> DensePlan:
        return plan_from(dense_mask(anchors, keep, context, block, since))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: DensePlan) -> Tensor:
        grouped = q.unflatten(1, (k.shape[1], -1))
        scores = grouped @ k[:, :, None].transpose(-1, -2) * q.shape[-1] ** -0.5
        weights = scores.masked_fill(~plan.mask[:, :, None], float("-inf")).softmax(dim=-1)
        return (weights @ v[:, :, None]).flatten(1, 2).masked_fill(plan.empty, 0.0)


def _build(_device: torch.device, _drafter: int, _counters: Any) -> DenseEager:
    return DenseEager()


part = Part(build=_build)
