"""Cross entropy in chunks of blocks, each under the checkpoint part: logits never exist at once.

Dense logits of a full batch are the largest tensor of the whole step ([b*Q, V]). The sums of the
chunks add up to the dense sums, so chunking changes memory and nothing else.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from fxrace.probe.part import Part
from harness.config import Preset
from harness.contracts import Checkpoint, Phase, Terms


class Chunked:
    """Loss over ``blocks`` draft blocks at a time."""

    def __init__(self, preset: Preset) -> None:
        self._blocks = preset.chunk_blocks

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,
    ) -> Terms:
        """Sums over all chunks; see ``harness.contracts.Loss`` for the shapes."""
        chunks = zip(
            hidden.split(self._blocks, dim=1),
            labels.split(self._blocks, dim=1),
            weights.split(self._blocks, dim=1),
            strict=True,
        )
        sums = [checkpoint.chunk(chunk_terms, *chunk, head) for chunk in chunks]
        numerator, denominator, correct, count = (sum(column) for column in zip(*sums, strict=True))
        return Terms(numerator=numerator, denominator=denominator, correct=correct, count=count)


def chunk_terms(
    _phase: Phase, hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """numerator, denominator, correct, count of one chunk, all fp32 scalars."""
    logits = F.linear(hidden, head).float()
    entropy = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="none")
    supervised = weights > 0
    correct = (logits.detach().argmax(dim=-1) == labels) & supervised
    numerator = (entropy * weights.flatten()).sum()
    return numerator, weights.sum(), correct.sum().float(), supervised.sum().float()


part = Part(build=Chunked, default=True)
