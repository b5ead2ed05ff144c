"""The arithmetic that all loss parts share: one chunk's terms, splitting, adding up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch.nn.functional as F
from torch import Tensor

from harness.contracts import ChunkFn, Phase, Terms
from harness.numerics import Objective
from harness.objective.decayed import Decayed

Figures = tuple[Tensor, Tensor, Tensor, Tensor]


def chunk_terms(
    phase: Phase, hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor
) -> Figures:
    """numerator, denominator, correct, count of one chunk under the decayed objective."""
    return weighing(Decayed())(phase, hidden, labels, weights, head)


def weighing(objective: Objective) -> ChunkFn:
    """The chunk function under this objective; four fp32 scalars, the first with gradient."""

    def terms(
        _phase: Phase, hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor
    ) -> Figures:
        return terms_of(logits_of(hidden, head), labels, weights, objective)

    return terms


def logits_of(hidden: Tensor, head: Tensor) -> Tensor:
    """[.., V] from hidden [.., h] and head [V, h], always as one matrix product.

    A chunk without its first slots is strided, and on such an input ``linear`` multiplies block by
    block: 37 ms instead of 3 for a chunk of the 8B shape on an H200.
    """
    return F.linear(hidden.flatten(0, -2), head).unflatten(0, hidden.shape[:-1])


def terms_of(logits: Tensor, labels: Tensor, weights: Tensor, objective: Objective) -> Figures:
    """The same from logits [b, n, slots, V]."""
    logits = logits.float()
    entropy = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="none")
    entropy = entropy.view_as(weights)
    supervised = weights > 0
    correct = (logits.detach().argmax(dim=-1) == labels) & supervised
    counted = objective.weigh(entropy, weights)
    numerator = (entropy * counted).sum()
    return numerator, counted.sum(), correct.sum().float(), supervised.sum().float()


def split(blocks: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Chunks of whole blocks, along dimension 1."""
    return zip(*(tensor.split(blocks, dim=1) for tensor in tensors), strict=True)


def added(chunks: Iterable[Figures]) -> Terms:
    """The sums over all chunks."""
    numerator, denominator, correct, count = (
        sum(column[1:], start=column[0]) for column in zip(*chunks, strict=True)
    )
    return Terms(numerator=numerator, denominator=denominator, correct=correct, count=count)
