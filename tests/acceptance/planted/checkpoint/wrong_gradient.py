"""Planted: every draft layer's gradient comes out one tenth too large; forward is untouched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.contracts import ChunkFn, Phase

FACTOR = 1.1


class _TooLarge(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * FACTOR


class WrongGradient:
    """No recompute, and a wrong chain rule."""

    def layer(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        result: Tensor = _TooLarge.apply(fn(Phase.FORWARD, *tensors))
        return result

    def chunk(self, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return fn(Phase.FORWARD, *tensors)


part = Part(build=WrongGradient)
