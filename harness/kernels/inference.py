"""A frozen target's small work in few passes of memory, on a GPU and without gradient.

Between a layer's matrix products plain PyTorch runs some twenty small kernels, a quarter of a
target's time at the shapes of Qwen3-8B. Here one kernel normalises heads and rotates them, one
gates, one rounds rows to fp8. They are compiled where a target is built, so that no thread compiles
them beside a drafter's first step.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from harness.model.layers import EPSILON, Heads, SwiGLU
from harness.model.rope import Rotation

_BLOCK, _HEADS = 4096, 8


@triton.jit(do_not_specialize=["length", "apart"])
def _turn(
    x, weight, cos, sin, out, stride, heads, length, apart, epsilon,
    HALF: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    """Per token some heads: x / rms(x) * weight, then dimension i turns with i + d/2."""
    row = tl.program_id(0).to(tl.int64)
    head = (tl.program_id(1) * HEADS + tl.arange(0, HEADS))[:, None]
    at = tl.arange(0, HALF)[None, :]
    inside = head < heads
    source = x + row * stride + head * (2 * HALF) + at
    first = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(source + HALF, mask=inside, other=0.0).to(tl.float32)
    square = tl.sum(first * first, axis=1) + tl.sum(second * second, axis=1)
    scale = tl.rsqrt(square / (2 * HALF) + epsilon)[:, None]
    first *= scale * tl.load(weight + at).to(tl.float32)
    second *= scale * tl.load(weight + HALF + at).to(tl.float32)
    angle = row // length * apart + row % length * (2 * HALF) + at
    c, s = tl.load(cos + angle).to(tl.float32), tl.load(sin + angle).to(tl.float32)
    place = out + (row * heads + head) * (2 * HALF) + at
    tl.store(place, (first * c - second * s).to(out.dtype.element_ty), mask=inside)
    tl.store(place + HALF, (second * c + first * s).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _gate(x, out, width, BLOCK: tl.constexpr):
    """Of a row that holds gate and up: silu(gate) * up."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    gate = tl.load(x + row * 2 * width + at, mask=inside).to(tl.float32)
    up = tl.load(x + row * 2 * width + width + at, mask=inside).to(tl.float32)
    gated = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(out + row * width + at, gated.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _narrow(x, out, scales, width, largest, BLOCK: tl.constexpr):
    """A row in e4m3, and what it was divided by."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < width
    wide = tl.load(x + row * width + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(wide), axis=0), 1e-12) / largest
    narrow = tl.minimum(tl.maximum(wide / scale, -largest), largest)
    tl.store(out + row * width + at, narrow.to(out.dtype.element_ty), mask=inside)
    tl.store(scales + row, scale)


def turned(x: Tensor, weight: Tensor, turn: Rotation) -> Tensor:
    """[b, T, n d] -> [b, n, T, d]: normalised per head by weight [d], then rotated."""
    cos, sin = turn
    dim = weight.numel()
    flat, heads = x.flatten(0, 1), x.shape[-1] // dim
    out = x.new_empty(*x.shape[:2], heads, dim)
    apart = cos.stride(0) if cos.shape[0] > 1 else 0
    with torch.cuda.device_of(x):
        _turn[(flat.shape[0], triton.cdiv(heads, _HEADS))](
            flat, weight, cos, sin, out, flat.stride(0), heads, x.shape[1], apart, EPSILON,
            HALF=dim // 2, HEADS=_HEADS,
        )  # fmt: skip
    return out.transpose(1, 2)


def gated(both: Tensor) -> Tensor:
    """[..., 2 I], gate beside up -> [..., I]."""
    width = both.shape[-1] // 2
    out = both.new_empty(*both.shape[:-1], width)
    with torch.cuda.device_of(both):
        _gate[(out.numel() // width, triton.cdiv(width, _BLOCK))](both, out, width, BLOCK=_BLOCK)
    return out


def narrowed(rows: Tensor) -> tuple[Tensor, Tensor]:
    """[m, k] -> the same in e4m3 and what each row was divided by, fp32 [m, 1]."""
    out = torch.empty_like(rows, dtype=torch.float8_e4m3fn)
    scales = torch.empty(rows.shape[0], 1, device=rows.device)
    width, largest = rows.shape[1], torch.finfo(out.dtype).max
    with torch.cuda.device_of(rows):
        _narrow[(rows.shape[0],)](
            rows, out, scales, width, largest, BLOCK=triton.next_power_of_2(width), num_warps=8
        )
    return out, scales


class _Quick(nn.Module):  # type: ignore[misc]
    """Around a piece of a layer; where gradients flow, that piece as it is."""

    def __init__(self, plain: Any) -> None:
        super().__init__()
        self.plain = plain


class QuickHeads(_Quick):
    """See ``harness.model.layers.Heads``."""

    def queries(self, x: Tensor, turn: Rotation) -> Tensor:
        plain: Heads = self.plain
        if torch.is_grad_enabled():
            return plain.queries(x, turn)
        return turned(plain.query(x), plain.query_norm.weight, turn)

    def keys_values(self, x: Tensor, turn: Rotation) -> tuple[Tensor, Tensor]:
        plain: Heads = self.plain
        if torch.is_grad_enabled():
            return plain.keys_values(x, turn)
        keys, values = plain.key_value(x).chunk(2, dim=-1)
        values = values.unflatten(-1, (-1, plain.head_dim)).transpose(1, 2)
        return turned(keys, plain.key_norm.weight, turn), values

    def merge(self, heads: Tensor) -> Tensor:
        merged: Tensor = self.plain.merge(heads)
        return merged


class QuickSwiGLU(_Quick):
    """See ``harness.model.layers.SwiGLU``."""

    def forward(self, x: Tensor) -> Tensor:
        plain: SwiGLU = self.plain
        out: Tensor = plain(x) if torch.is_grad_enabled() else plain.down(gated(plain.gate_up(x)))
        return out


def quicken(target: Any, device: str) -> None:
    """Put the kernels into a target of ours on a GPU, and compile them."""
    half = target.shape.head_dim // 2
    for layer in target.layers:
        if half == triton.next_power_of_2(half):
            layer.heads = QuickHeads(layer.heads)
        layer.mlp = QuickSwiGLU(layer.mlp)
    target.features(torch.zeros(1, 2, dtype=torch.int64, device=device))
