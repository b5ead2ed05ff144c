"""One drafter and its optimizer: a whole training step, and a rehearsal of one.

The same code runs on a drafter's thread, on main while warming up, and in the single-threaded
oracle. Nothing draws from a global generator: every step seeds its own from (seed, drafter,
step), so a step's result does not depend on what other threads did.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from harness.config import Plan
from harness.contracts import Attention, Call, Checkpoint, Locking, Loss, Phase, Tracing
from harness.data import language, rows
from harness.model.drafter import build_drafter
from harness.model.target import Borrowed
from harness.model.training import Batch, draft_terms

T = TypeVar("T")
SMALLEST_WEIGHT = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True)
class Gear:
    """The live parts one drafter trains with."""

    attention: Attention
    checkpoint: Checkpoint
    loss: Loss
    locking: Locking


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Loss and gradient norm (before clipping) of one step; ``slots`` were supervised, of which
    ``correct`` were predicted right.
    """

    loss: float
    grad_norm: float
    slots: int
    correct: int


class Drafting:
    """Drafter number ``index`` in training on its device. Not to be used by two threads at once."""

    def __init__(self, *, index: int, plan: Plan, gear: Gear, borrowed: Borrowed) -> None:
        preset = plan.preset
        self.index, self.device = index, torch.device(plan.drafter_devices[index])
        self._plan, self._borrowed = plan, borrowed
        self._gear = replace(gear, locking=_Keyed(gear.locking, gear.attention))
        self._module = build_drafter(preset, seed=seed_of(plan.seed, index), device=self.device)
        self._optimizer = torch.optim.AdamW(
            self._module.parameters(), lr=preset.learning_rate, weight_decay=preset.weight_decay
        )

    def train(self, batch: Batch, step: int) -> Result:
        """Forward, backward, clip, AdamW on a batch that lies on the drafter's device."""
        generator = torch.Generator().manual_seed(seed_of(self._plan.seed, self.index, step))

        def work() -> Result:
            loss, figures = self._backward(batch, generator)
            norm = torch.nn.utils.clip_grad_norm_(
                self._module.parameters(), self._plan.preset.clip_norm
            )
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)
            # One copy to the host for all figures; it also makes the step's time true on CUDA.
            values = torch.stack((loss, norm.float(), *figures)).tolist()
            return Result(
                loss=values[0], grad_norm=values[1], correct=int(values[2]), slots=int(values[3])
            )

        return self._as_step(Phase.STEP, work)

    def rehearse(self, context: int) -> None:
        """Forward and backward on made-up features; gradients dropped, nothing learned."""
        generator = torch.Generator().manual_seed(seed_of(self._plan.seed, self.index, -context))
        batch = self._made_up(context, generator)

        def work() -> None:
            self._backward(batch, generator)
            self._optimizer.zero_grad(set_to_none=True)
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)

        self._as_step(Phase.WARMUP, work)

    def _as_step(self, phase: Phase, work: Callable[[], T]) -> T:
        call = Call(site="step", drafter=self.index, phase=phase)
        return self._gear.locking.around(call, work)

    def _backward(
        self, batch: Batch, generator: torch.Generator
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Gradients into the module; the loss and (correct, count), detached."""
        gear = self._gear
        terms = draft_terms(
            self._module,
            self._borrowed,
            batch,
            generator=generator,
            preset=self._plan.preset,
            attention=gear.attention,
            checkpoint=gear.checkpoint,
            loss=gear.loss,
            locking=gear.locking,
            index=self.index,
        )
        loss = terms.numerator / terms.denominator.clamp_min(SMALLEST_WEIGHT)
        loss.backward()
        return loss.detach(), (terms.correct.detach(), terms.count.detach())

    def _made_up(self, context: int, generator: torch.Generator) -> Batch:
        preset = self._plan.preset
        input_ids, loss_mask = rows(
            language(preset.target.vocab),
            seed=self._plan.seed,
            index=-1 - self.index,
            rows=preset.rows,
            context=context,
        )
        width = preset.drafter.captures * preset.target.hidden
        features = torch.randn((preset.rows, context, width), generator=generator)
        batch = Batch(
            input_ids=input_ids,
            loss_mask=loss_mask,
            features=features.to(self._borrowed.embedding.dtype),
        )
        return batch.on(self.device)


class _Keyed:
    """Gives each call of a part that traces on every call a key of its own: nothing is warm."""

    def __init__(self, locking: Locking, attention: Attention) -> None:
        self._locking = locking
        tracing = getattr(attention, "tracing", Tracing.PER_KEY)
        self._always_cold = tracing is Tracing.EVERY_CALL
        self._numbers = itertools.count()

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if self._always_cold and call.site == "attention":
            call = replace(call, key=(*call.key, next(self._numbers)))
        return self._locking.around(call, work)

    def close(self) -> None:
        self._locking.close()


def seed_of(*parts: int) -> int:
    """A 63-bit seed out of some numbers, the same on every machine."""
    text = ":".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
