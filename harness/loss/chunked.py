"""Cross entropy in chunks of blocks, each under the checkpoint part: logits never exist at once.

Dense logits of a full batch are the largest tensor of the whole step ([b*Q, V]). The sums of the
chunks add up to the dense sums, so chunking changes memory and nothing else.
"""

from __future__ import annotations

from torch import Tensor

from fxrace.probe.part import Part
from harness.chunks import added, split, weighing
from harness.config import Preset
from harness.contracts import Checkpoint, Terms
from harness.numerics import Objective
from harness.objective.decayed import Decayed


class Chunked:
    """Loss over ``blocks`` draft blocks at a time."""

    recomputes = None  # as the checkpoint part does

    def __init__(self, preset: Preset, objective: Objective | None = None) -> None:
        self._blocks = preset.chunk_blocks
        self._terms = weighing(objective or Decayed())

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,
    ) -> Terms:
        """Sums over all chunks; see ``harness.contracts.Loss`` for the shapes."""
        return added(
            checkpoint.chunk(self._terms, *chunk, head)
            for chunk in split(self._blocks, hidden, labels, weights)
        )


part = Part(build=Chunked, default=True)
