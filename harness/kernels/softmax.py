"""Cross entropy of a chunk's logits and its gradient, in two kernels and in place, on a GPU.

Logits are the largest tensor of a step: one read gives each row's entropy, one more and one write
turn the logits into their gradient. Between the two lies what the objective makes of entropies.
Compiled where the part is built, not in the first step, so that no drafter's thread compiles them
beside another. So labels and weights are copied: a slice may begin at another alignment, for which
Triton would compile anew.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from harness.numerics import Objective

BLOCK, WARPS = 16384, 16


@triton.jit
def _measure(logits, labels, totals, entropies, hits, words, BLOCK: tl.constexpr):
    """Per row: log of the sum of exponentials, that less the label's logit, and whether the label
    is the first of the largest.
    """
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    chosen = tl.load(logits + row * words + label).to(tl.float32)
    largest = float("-inf")
    before = float("-inf")
    summed = 0.0
    for start in range(0, words, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(logits + row * words + at, mask=at < words, other=float("-inf"))
        x = x.to(tl.float32)
        higher = tl.maximum(largest, tl.max(x, axis=0))
        summed = summed * tl.exp(largest - higher) + tl.sum(tl.exp(x - higher), axis=0)
        before = tl.maximum(before, tl.max(tl.where(at < label, x, float("-inf")), axis=0))
        largest = higher
    total = largest + tl.log(summed)
    tl.store(totals + row, total)
    tl.store(entropies + row, total - chosen)
    tl.store(hits + row, ((chosen == largest) & (before < chosen)).to(tl.int8))


@triton.jit
def _pull(logits, labels, totals, counted, words, BLOCK: tl.constexpr):
    """Each logit becomes what the row counts, times its probability less one for the label."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < words
    place = logits + row * words + at
    likely = tl.exp(tl.load(place, mask=inside).to(tl.float32) - tl.load(totals + row))
    pull = (likely - (at == tl.load(labels + row)).to(tl.float32)) * tl.load(counted + row)
    tl.store(place, pull.to(logits.dtype.element_ty), mask=inside)


class Softmax:
    """Both kernels, compiled for rows of ``words`` logits in bf16 and fp32."""

    def __init__(self, device: torch.device, words: int) -> None:
        one = torch.ones(1, 1, 1, device=device)
        for dtype in (torch.bfloat16, torch.float32):
            logits = torch.zeros(1, 1, 1, words, device=device, dtype=dtype)
            entropy, _, total = self._entropies(logits, one.long())
            self._gradient(logits, one.long(), total, entropy)

    def shares(
        self, logits: Tensor, labels: Tensor, weights: Tensor, objective: Objective
    ) -> tuple[Tensor, Tensor]:
        """As ``fused_linear_ce.eager_shares``; the gradient lies where the logits were."""
        entropy, hits, totals = self._entropies(logits, labels)
        counted = objective.weigh(entropy, weights)
        self._gradient(logits, labels, totals, counted)
        supervised = weights > 0
        figures = (
            (entropy * counted).sum(), counted.sum(), (hits.bool() & supervised).sum().float(),
            supervised.sum().float(),
        )  # fmt: skip
        return torch.stack(figures), logits

    @staticmethod
    def _entropies(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        labels = labels.clone(memory_format=torch.contiguous_format)
        entropy, totals = (logits.new_empty(labels.shape, dtype=torch.float32) for _ in range(2))
        hits = logits.new_empty(labels.shape, dtype=torch.int8)
        with torch.cuda.device_of(logits):
            _measure[(labels.numel(),)](
                logits, labels, totals, entropy, hits, logits.shape[-1], BLOCK=BLOCK,
                num_warps=WARPS,
            )  # fmt: skip
        return entropy, hits, totals

    @staticmethod
    def _gradient(logits: Tensor, labels: Tensor, totals: Tensor, counted: Tensor) -> None:
        words = logits.shape[-1]
        with torch.cuda.device_of(logits):
            _pull[(labels.numel(), triton.cdiv(words, BLOCK))](
                logits, labels.clone(memory_format=torch.contiguous_format), totals,
                counted.clone(memory_format=torch.contiguous_format), words, BLOCK=BLOCK,
                num_warps=WARPS,
            )  # fmt: skip
