"""The ways in which drafters share a step, as generators that yield what must be added up.

Who adds (threads at a barrier, a coordinator, the single-threaded oracle, a process group) is
not known here: a yielded tensor simply holds the sum over all drafters when the generator goes
on. So every execution runs the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


class Nothing:
    """Nobody meets."""

    together = False
    carrier = "barrier"

    def divisor(self, denominator: Tensor) -> Tensor:
        return denominator

    def gradients(
        self,
        step: int,  # noqa: ARG002 - the contract's shape, here and below
        gradients: list[Tensor],  # noqa: ARG002
        denominator: Tensor,  # noqa: ARG002
        members: int,  # noqa: ARG002
    ) -> Iterator[list[Tensor]]:
        yield from ()

    def parameters(
        self,
        step: int,  # noqa: ARG002
        parameters: Sequence[Tensor],  # noqa: ARG002
        members: int,  # noqa: ARG002
    ) -> Iterator[list[Tensor]]:
        yield from ()


class MeanOfGradients(Nothing):
    """Each drafter's gradient is that of its own mean loss."""

    together = True

    def __init__(self, carrier: str = "barrier") -> None:
        self.carrier = carrier

    def gradients(
        self,
        step: int,  # noqa: ARG002
        gradients: list[Tensor],
        denominator: Tensor,  # noqa: ARG002
        members: int,
    ) -> Iterator[list[Tensor]]:
        yield gradients
        torch._foreach_div_(gradients, float(members))


class RatioOfSums(Nothing):
    """Backward runs on the numerator alone; the sum of all denominators divides afterwards."""

    together = True

    def divisor(self, denominator: Tensor) -> Tensor:
        return torch.ones_like(denominator)

    def gradients(
        self,
        step: int,  # noqa: ARG002
        gradients: list[Tensor],
        denominator: Tensor,
        members: int,  # noqa: ARG002
    ) -> Iterator[list[Tensor]]:
        total = denominator.detach().clone()
        yield [*gradients, total]
        for gradient in gradients:
            gradient.div_(total)


class AverageOfWeights(Nothing):
    """Local steps, and the mean of all weights after every ``every`` of them."""

    together = True

    def __init__(self, every: int) -> None:
        self._every = every

    def parameters(
        self, step: int, parameters: Sequence[Tensor], members: int
    ) -> Iterator[list[Tensor]]:
        if (step + 1) % self._every == 0:
            shared = [weight.detach() for weight in parameters]
            yield shared
            torch._foreach_div_(shared, float(members))
