"""Rotary position embedding, from explicit positions.

Positions are an argument because a draft slot's position is its block's anchor plus its index,
not its place in the tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor

Rotation = tuple[Tensor, Tensor]
"""cos and sin, each [b or 1, 1, T, d]: broadcast over heads."""


def rotation(positions: Tensor, head_dim: int, theta: float, dtype: torch.dtype) -> Rotation:
    """cos and sin for ``positions`` i64 [b or 1, T]; angles are taken in fp32, then cast."""
    pairs = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32)
    frequencies = theta ** (-pairs / head_dim)
    angles = positions[:, None, :, None].float() * frequencies
    both = torch.cat((angles, angles), dim=-1)
    return both.cos().to(dtype), both.sin().to(dtype)


def rotate(x: Tensor, turn: Rotation) -> Tensor:
    """Rotate x [b, heads, T, d]: dimension i turns with i + d/2, as in Llama and Qwen."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
