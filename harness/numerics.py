"""Contracts of the axes that decide which numbers a training computes.

Kept apart from ``harness.contracts`` because these change the meaning of a run: a trial is
compared with a single-threaded reference of the *same* objective, labels, schedule, precision
and sync, while every other part must leave the numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Objective(Protocol):
    """axis ``objective``: ``build(preset) -> Objective``: how much each slot's error counts.

    ``weigh(entropy, weights)``, both f32 [b, n, slots] of whole blocks, gives the final weights;
    ``weights`` are decayed by slot and 0 where not supervised. No gradient flows through them.
    """

    def weigh(self, entropy: Tensor, weights: Tensor) -> Tensor: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Convention:
    """axis ``labels``: ``build() -> Convention``. Slot k >= ``first`` of the block at anchor a
    predicts token a + k + ``offset``; earlier slots predict nothing.
    """

    first: int
    offset: int


class Schedule(Protocol):
    """axis ``schedule``: ``build() -> Schedule``: the learning rate over a run."""

    def factor(self, step: int, steps: int) -> float:
        """What the peak learning rate is multiplied by in step 0 <= step < steps."""
        ...


class Updates(Protocol):
    """The optimizer of one drafter, as a precision part makes it."""

    parameters: Sequence[Tensor]
    """What other drafters average with, in the order of the module: fp32 masters where kept."""

    def gradients(self) -> list[Tensor]:
        """This step's gradients, as the update will read them; may be changed in place."""
        ...

    def apply(self, factor: float) -> Tensor:
        """Clip, update, forget the gradients; the norm before clipping (fp32 scalar)."""
        ...

    def publish(self) -> None:
        """Copy ``parameters`` into the module, after somebody else has changed them."""
        ...

    def drop(self) -> None:
        """Forget the gradients."""
        ...


class Precision(Protocol):
    """axis ``precision``: ``build() -> Precision``. Where it has a ``target_speed``, the peak for a
    target's products with weights is that many times the peak for everything else.
    """

    def tolerances(self, device_type: str) -> tuple[float, float]:
        """Relative, of loss and gradient norm: how far two runs of equal meaning may be apart at
        their first steps.
        """
        ...

    def dtypes(self, device_type: str) -> tuple[torch.dtype, torch.dtype]:
        """Of the target with its features, and of the drafter's weights."""
        ...

    def target(self, target: Any) -> Any:
        """The target made ready, in place or anew."""
        ...

    def updates(self, module: torch.nn.Module, preset: Any) -> Updates: ...


class Sync(Protocol):
    """axis ``sync``: ``build() -> Sync``: what drafters share, and when.

    Both generators yield lists of tensors; when they go on, each tensor holds its sum over all
    drafters (same step, same place). ``together`` False: they never meet, and each drafter
    starts from weights of its own. ``carrier`` names who adds: ``"barrier"`` (everybody, in one
    order) or ``"coordinator"`` (one thread).
    """

    together: bool
    carrier: str

    def divisor(self, denominator: Tensor) -> Tensor:
        """What the loss numerator is divided by before backward."""
        ...

    def gradients(
        self, step: int, gradients: list[Tensor], denominator: Tensor, members: int
    ) -> Iterator[list[Tensor]]:
        """Between backward and update; leaves in ``gradients`` what the update shall use."""
        ...

    def parameters(
        self, step: int, parameters: Sequence[Tensor], members: int
    ) -> Iterator[list[Tensor]]:
        """After the update."""
        ...
