"""Chunks whose logits are always computed again in backward, whatever the checkpoint part does.

Non-reentrant. The checkpoint part still decides about layers.
"""

from __future__ import annotations

from torch import Tensor

from fxrace.probe.part import Part
from harness.chunks import added, split, weighing
from harness.config import Preset
from harness.contracts import Checkpoint, Terms
from harness.numerics import Objective
from harness.objective.decayed import Decayed
from harness.recompute import Kind, Recompute


class ChunkedRecomputed:
    """Pays a third head product and never holds more than one chunk of logits."""

    recomputes = True

    def __init__(self, preset: Preset, objective: Objective | None = None) -> None:
        self._blocks = preset.chunk_blocks
        self._terms = weighing(objective or Decayed())
        self._recompute = Recompute(Kind.NON_REENTRANT)

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,  # noqa: ARG002 - has its own
    ) -> Terms:
        """Sums over all chunks; see ``harness.contracts.Loss`` for the shapes."""
        return added(
            self._recompute.chunk(self._terms, *chunk, head)
            for chunk in split(self._blocks, hidden, labels, weights)
        )


part = Part(build=ChunkedRecomputed)
