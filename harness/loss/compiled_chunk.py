"""One compiled function per chunk, under the checkpoint part: one more thing that traces.

With reentrant checkpoint its graph with gradients compiles in backward, as attention's does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.chunks import Figures, added, logits_of, split, terms_of
from harness.compiling import Run, at_home, compiled
from harness.config import Preset
from harness.contracts import Checkpoint, Phase, Terms
from harness.numerics import Objective
from harness.objective.decayed import Decayed


class CompiledChunk:
    """``run`` makes each compiled call under the locking part."""

    recomputes = None  # as the checkpoint part does

    def __init__(
        self,
        preset: Preset,
        objective: Objective | None = None,
        device: torch.device | None = None,
        run: Run = at_home,
    ) -> None:
        self._blocks, self._objective = preset.chunk_blocks, objective or Decayed()
        self._run = run
        self._compiled: Any = compiled(_terms, device or torch.device("cpu"))

    def terms(
        self,
        hidden: Tensor,
        labels: Tensor,
        weights: Tensor,
        head: Tensor,
        checkpoint: Checkpoint,
    ) -> Terms:
        """Sums over all chunks; see ``harness.contracts.Loss`` for the shapes."""

        def chunk(phase: Phase, *tensors: Tensor) -> Figures:
            key = ("chunk", tuple(tensors[0].shape), torch.is_grad_enabled())
            figures: Figures = self._run(
                "loss", phase, key, lambda: self._compiled(*tensors, self._objective)
            )
            return figures

        return added(
            checkpoint.chunk(chunk, *tensors, head)
            for tensors in split(self._blocks, hidden, labels, weights)
        )


def _terms(
    hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor, objective: Objective
) -> Figures:
    return terms_of(logits_of(hidden, head), labels, weights, objective)


part = Part(build=CompiledChunk)
