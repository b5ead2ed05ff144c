"""The pieces a Qwen3-style layer is made of, shared by target and drafter.

Parameters keep the dtype they were made with; arithmetic follows the activations. So a drafter
with fp32 weights fed bf16 features computes in bf16 and receives fp32 gradients: mixed precision
without autocast, whose state would be one more thing that threads share.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harness.config import TargetShape
from harness.model.rope import Rotation, rotate

EPSILON = 1e-6


class Linear(nn.Module):  # type: ignore[misc]
    """x @ W.T without bias; W [out, in] is left uninitialised (see ``initialise``)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


class RMSNorm(nn.Module):  # type: ignore[misc]
    """x / rms(x) * weight over the last dimension."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), EPSILON)


class SwiGLU(nn.Module):  # type: ignore[misc]
    """down(silu(gate(x)) * up(x)); gate and up are one matrix."""

    def __init__(self, width: int, intermediate: int) -> None:
        super().__init__()
        self.gate_up = Linear(width, 2 * intermediate)
        self.down = Linear(intermediate, width)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class Heads(nn.Module):  # type: ignore[misc]
    """Projections into and out of attention heads; per-head RMSNorm on q and k before RoPE.

    Queries and keys/values are separate calls because a draft layer takes queries from the
    draft stream only, keys and values also from the context.
    """

    def __init__(self, shape: TargetShape) -> None:
        super().__init__()
        self.head_dim = shape.head_dim
        self.query = Linear(shape.hidden, shape.heads * shape.head_dim)
        self.key_value = Linear(shape.hidden, 2 * shape.kv_heads * shape.head_dim)
        self.out = Linear(shape.heads * shape.head_dim, shape.hidden)
        self.query_norm = RMSNorm(shape.head_dim)
        self.key_norm = RMSNorm(shape.head_dim)

    def queries(self, x: Tensor, turn: Rotation) -> Tensor:
        """[b, T, h] -> [b, n_q, T, d], normalised and rotated."""
        return rotate(self.query_norm(self._split(self.query(x))), turn)

    def keys_values(self, x: Tensor, turn: Rotation) -> tuple[Tensor, Tensor]:
        """[b, T, h] -> two of [b, n_kv, T, d]; keys are normalised and rotated."""
        keys, values = self._split(self.key_value(x)).chunk(2, dim=1)
        return rotate(self.key_norm(keys), turn), values

    def merge(self, heads: Tensor) -> Tensor:
        """[b, n_q, T, d] -> [b, T, h]."""
        return self.out(heads.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Matrices normal with std fan_in^-1/2, vectors one; the global generator is not touched."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, parameter.shape[-1] ** -0.5, generator=generator)
            else:
                parameter.fill_(1.0)
