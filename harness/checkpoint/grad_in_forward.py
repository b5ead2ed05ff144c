"""Loss gradient computed in forward, chunk by chunk; layers keep their activations.

Legal because the head is frozen: the only gradient that leaves a chunk is that of its inputs,
it is linear in the gradient that comes in, and it is smaller than the logits. Nothing of the
loss is run again in backward, so nothing of it can trace or compile there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.contracts import ChunkFn, Phase


class _ChunkNow(torch.autograd.Function):  # type: ignore[misc]
    """Forward returns the chunk's four figures and keeps d numerator / d input."""

    @staticmethod
    def forward(ctx: Any, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, ...]:
        wanted = ctx.needs_input_grad[1:]
        inputs = [
            tensor.detach().requires_grad_(needs)
            for tensor, needs in zip(tensors, wanted, strict=True)
        ]
        with torch.enable_grad():
            outputs = fn(Phase.FORWARD, *inputs)
            leaves = [leaf for leaf in inputs if leaf.requires_grad]
            gradients = torch.autograd.grad(outputs[0], leaves) if leaves else ()
        ctx.wanted = wanted
        ctx.save_for_backward(*gradients)
        numerator, denominator, correct, count = (output.detach() for output in outputs)
        ctx.mark_non_differentiable(denominator, correct, count)
        return numerator, denominator, correct, count

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, *unused: Tensor) -> Any:  # noqa: ARG004
        gradients = iter(ctx.saved_tensors)
        return None, *(
            (gradient := next(gradients)) * upstream.to(gradient.dtype) if needs else None
            for needs in ctx.wanted
        )


class GradInForward:
    """Only the chunk is special; a layer runs as if there were no checkpoint."""

    def layer(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        return fn(Phase.FORWARD, *tensors)

    def chunk(self, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        figures: tuple[Tensor, Tensor, Tensor, Tensor] = _ChunkNow.apply(fn, *tensors)
        return figures


part = Part(build=GradInForward)
