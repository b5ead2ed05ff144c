"""Head, cross entropy and its gradient in one go, chunk by chunk, in forward: two head products.

Legal because the head is frozen: all that backward needs is d numerator / d hidden, which is
known once a chunk's logits are. Nothing of the loss is run again, so nothing of it can trace or
compile in backward, and logits live for one chunk. On a GPU two kernels written for it make softmax
and gradient, so nothing of the loss is compiled by torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.chunks import logits_of, split
from harness.config import Preset
from harness.contracts import Checkpoint, Terms
from harness.numerics import Objective
from harness.objective.decayed import Decayed

Shares = Callable[[Tensor, Tensor, Tensor, Objective], tuple[Tensor, Tensor]]
"""(logits [b, n, slots, V], labels, weights, objective) -> what ``eager_shares`` gives. May write
into the logits."""


class FusedLinearCE:
    """The checkpoint part is not asked: there is nothing to recompute."""

    recomputes = False

    def __init__(
        self,
        preset: Preset,
        objective: Objective | None = None,
        shares: Shares | None = None,
    ) -> None:
        self._blocks, self._objective = preset.chunk_blocks, objective or Decayed()
        self._shares = shares or eager_shares

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,  # noqa: ARG002 - nothing is run twice
    ) -> Terms:
        """Sums over all chunks; see ``harness.contracts.Loss`` for the shapes."""
        numerator, denominator, correct, count = _InForward.apply(
            self, hidden, labels, weights, head
        )
        return Terms(numerator=numerator, denominator=denominator, correct=correct, count=count)

    def chunk(
        self, hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The four figures as one vector, and d numerator / d hidden."""
        figures, pull = self._shares(logits_of(hidden, head), labels, weights, self._objective)
        return figures, pull @ head


class _InForward(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, loss: FusedLinearCE, *tensors: Tensor) -> tuple[Tensor, ...]:
        hidden, labels, weights, head = tensors
        gradient = torch.empty_like(hidden, memory_format=torch.contiguous_format)
        total = torch.zeros(4, device=hidden.device)
        for pull, *(h, y, w) in split(loss._blocks, gradient, hidden, labels, weights):
            figures, mine = loss.chunk(h, y, w, head)
            total += figures
            pull.copy_(mine)
        ctx.save_for_backward(gradient)
        numerator, denominator, correct, count = total.unbind()
        ctx.mark_non_differentiable(denominator, correct, count)
        return numerator, denominator, correct, count

    @staticmethod
    def backward(ctx: Any, upstream: Tensor, *unused: Tensor) -> Any:  # noqa: ARG004
        (gradient,) = ctx.saved_tensors
        return None, gradient * upstream.to(gradient.dtype), None, None, None


def eager_shares(
    logits: Tensor, labels: Tensor, weights: Tensor, objective: Objective
) -> tuple[Tensor, Tensor]:
    """(numerator, denominator, correct, count) fp32 [4], and d numerator / d logits."""
    wide = logits.float()
    total = wide.logsumexp(dim=-1, keepdim=True)
    chosen = labels[..., None]
    entropy = (total - wide.gather(-1, chosen))[..., 0]
    counted = objective.weigh(entropy, weights)
    truth = torch.arange(logits.shape[-1], device=logits.device) == chosen
    pull = ((wide - total).exp() - truth.float()) * counted[..., None]
    supervised = weights > 0
    correct = (wide.argmax(dim=-1) == labels) & supervised
    figures = (
        (entropy * counted).sum(), counted.sum(), correct.sum().float(), supervised.sum().float(),
    )  # fmt: skip
    return torch.stack(figures), pull.to(logits.dtype)


def build(
    preset: Preset, objective: Objective | None = None, device: torch.device | None = None
) -> FusedLinearCE:
    if device is None or device.type != "cuda":
        return FusedLinearCE(preset, objective)
    from harness.kernels.softmax import Softmax  # Triton is there where GPUs are

    return FusedLinearCE(preset, objective, Softmax(device, preset.target.vocab).shares)


part = Part(build=build)
