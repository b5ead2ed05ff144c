"""AdamW over fp32 masters in one pass of memory per weight, on a GPU.

Reads the gradient in whatever format backward left it, scales it, updates master and moments, and
writes the narrow weight: 28 bytes a weight, where widening, clipping, AdamW and copying back one
after the other move more than 60. The kernel is compiled where the optimizer is built, not in the
first step, so that no drafter's thread compiles it beside another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


@triton.jit
def _update(
    master, narrow, gradient, first, second, scale, count, decay, rate, beta1, beta2, root,
    epsilon, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    pull = tl.load(gradient + at, mask=inside).to(tl.float32) * tl.load(scale)
    mean = beta1 * tl.load(first + at, mask=inside) + (1.0 - beta1) * pull
    square = beta2 * tl.load(second + at, mask=inside) + (1.0 - beta2) * pull * pull
    weight = tl.load(master + at, mask=inside) * decay
    weight -= rate * mean / (tl.sqrt(square) * root + epsilon)
    tl.store(first + at, mean, mask=inside)
    tl.store(second + at, square, mask=inside)
    tl.store(master + at, weight, mask=inside)
    tl.store(narrow + at, weight.to(narrow.dtype.element_ty), mask=inside)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """AdamW's constants, as in ``torch.optim.AdamW``."""

    weight_decay: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


class Moments:
    """The state of one set of weights: contiguous tensors, masters fp32."""

    def __init__(self, masters: Sequence[Tensor], narrow: Sequence[Tensor], rule: Rule) -> None:
        self._masters, self._narrow, self._rule = masters, narrow, rule
        self._first = [torch.zeros_like(master) for master in masters]
        self._second = [torch.zeros_like(master) for master in masters]
        self._steps = 0
        for dtype in {narrow[0].dtype, torch.float32}:
            for count in {_alike(master.numel()) for master in masters}:
                self._compile(dtype, count)

    def update(self, gradients: Sequence[Tensor], scale: Tensor, rate: float) -> None:
        """One step of learning rate ``rate`` on ``scale`` (fp32, one number) x ``gradients``."""
        self._steps += 1
        state = zip(
            self._masters, self._narrow, gradients, self._first, self._second, strict=True
        )  # fmt: skip
        for tensors in state:
            self._launch(tensors, scale, rate)

    def _launch(self, tensors: tuple[Tensor, ...], scale: Tensor, rate: float) -> None:
        rule, count = self._rule, tensors[0].numel()
        grid = (triton.cdiv(count, BLOCK),)
        with torch.cuda.device_of(tensors[0]):
            _update[grid](
                *tensors, scale, count,
                1.0 - rate * rule.weight_decay,
                rate / (1.0 - rule.beta1**self._steps),
                rule.beta1, rule.beta2,
                (1.0 - rule.beta2**self._steps) ** -0.5,
                rule.epsilon, BLOCK=BLOCK, num_warps=8,
            )  # fmt: skip

    def _compile(self, dtype: torch.dtype, count: int) -> None:
        """Run the kernel once on tensors of its own. Gradients are narrow, or wide after a sync."""
        device = self._masters[0].device
        wide = [torch.zeros(count, device=device) for _ in range(3)]
        narrow = torch.zeros(count, device=device, dtype=self._narrow[0].dtype)
        gradient = torch.zeros(count, device=device, dtype=dtype)
        self._steps = 1
        self._launch((wide[0], narrow, gradient, *wide[1:]), torch.ones(1, device=device), 0.5)
        self._steps = 0


def _alike(count: int) -> int:
    """A small number for which Triton compiles what it compiles for this one: it has a kernel for
    1, one for multiples of 16 and one for the others.
    """
    if count == 1:
        return 1
    return BLOCK if count % 16 == 0 else BLOCK - 1
