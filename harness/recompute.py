"""torch's activation checkpointing, told apart by kind, with the phase given to the function.

The RNG is not preserved: preserving it rewinds the process-wide generator under every other
thread's feet, and nothing in the drafter draws from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum
from typing import Any

from torch import Tensor
from torch.utils.checkpoint import checkpoint

from harness.contracts import ChunkFn, Phase


class Kind(Enum):
    """REENTRANT runs forward without grad and again, with grad, inside its own backward node;
    NON_REENTRANT runs forward with grad and again when the first saved tensor is asked for.
    """

    REENTRANT = True
    NON_REENTRANT = False


class Recompute:
    """A ``Checkpoint`` of one kind over both layers and loss chunks."""

    recomputes = True

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def layer(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        result: Tensor = self._run(fn, tensors)
        return result

    def chunk(self, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        numerator, *figures = self._run(fn, tensors)
        # Reentrant marks every float output as requiring grad; only the numerator carries one.
        denominator, correct, count = (figure.detach() for figure in figures)
        return numerator, denominator, correct, count

    def _run(self, fn: Callable[..., Any], tensors: tuple[Tensor, ...]) -> Any:
        runs = itertools.count()

        def told(*inputs: Tensor) -> Any:
            return fn(Phase.RECOMPUTE if next(runs) else Phase.FORWARD, *inputs)

        return checkpoint(told, *tensors, use_reentrant=self._kind.value, preserve_rng_state=False)
