"""Plain masked attention over every pair, no compiler: the reference the others must equal.

It materialises all Q x (S + Q) scores. A query with nothing to see returns zeros, as
flex_attention does, where a plain softmax would return NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fxrace.probe.part import Part
from harness.contracts import Tracing
from harness.model.mask import dense_mask


@dataclass(frozen=True, kw_only=True, slots=True)
class DensePlan:
    """``mask`` bool [b, 1, Q, S+Q], all True in rows of ``empty`` bool [b, 1, Q, 1]."""

    mask: Tensor
    empty: Tensor


class Dense:
    """Scaled dot-product attention under an explicit mask, with grouped queries."""

    fused = False
    tracing = Tracing.NEVER

    def plan(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> DensePlan:
        return plan_from(dense_mask(anchors, keep, context, block, since))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: DensePlan) -> Tensor:
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=plan.mask)
        return out.masked_fill(plan.empty, 0.0)


def plan_from(mask: Tensor) -> DensePlan:
    """A plan from any bool mask [b, Q, S+Q]."""
    empty = ~mask.any(dim=-1, keepdim=True)
    return DensePlan(mask=(mask | empty)[:, None], empty=empty[:, None])


def _build(_device: torch.device, _drafter: int, _counters: Any) -> Dense:
    return Dense()


part = Part(build=_build)
