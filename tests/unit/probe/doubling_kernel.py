"""A Triton kernel of a user's, in a file of its own: not every machine has Triton."""

# mypy: ignore-errors
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _doubling(source, target, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    tl.store(target + at, tl.load(source + at, mask=inside) * 2, mask=inside)


def doubled(x: torch.Tensor) -> torch.Tensor:
    target = torch.empty_like(x)
    _doubling[(triton.cdiv(x.numel(), 256),)](x, target, x.numel(), BLOCK=256)
    return target
