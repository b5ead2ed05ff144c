"""No recompute: every activation is kept until backward."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fxrace.probe.part import Part
from harness.contracts import ChunkFn, Phase


class Off:
    """Calls the function once, in forward."""

    def layer(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        return fn(Phase.FORWARD, *tensors)

    def chunk(self, fn: ChunkFn, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return fn(Phase.FORWARD, *tensors)


part = Part(build=Off, default=True)
