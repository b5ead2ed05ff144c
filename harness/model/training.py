"""One DFlash training step up to its loss terms, with every hazard behind a part.

The step is the same whichever parts are plugged in: anchors, draft tokens, mask plan, layers (each
through the checkpoint part, its attention through the locking part), loss chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from harness.config import DrafterShape
from harness.contracts import Attention, Call, Checkpoint, Layers, Locking, Loss, Phase, Terms
from harness.model.anchors import GIVEN, draft_tokens, label_slots, sample_anchors
from harness.model.drafter import Attend, Drafter, RunLayer
from harness.model.target import Borrowed
from harness.numerics import Convention


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """A micro-batch as a target hands it over: input_ids i64 and loss_mask bool [b, S],
    features [b, S, K*h]. Tokens and mask stay on the host, where draft blocks are drawn from
    them: on a GPU that is forty small kernels, each launched while it has nothing else to do.

    Packed rows also have ``starts`` i64 [b, S], on the host: where each token's document begins.
    """

    input_ids: Tensor
    loss_mask: Tensor
    features: Tensor
    starts: Tensor | None = None

    @classmethod
    def of(cls, rows: Sequence[Tensor], features: Tensor) -> Batch:
        """The rows that a text gives, two tensors or three, with what the target made of them."""
        input_ids, loss_mask, *starts = rows
        return cls(
            input_ids=input_ids, loss_mask=loss_mask, features=features,
            starts=starts[0] if starts else None,
        )  # fmt: skip

    @property
    def context(self) -> int:
        """S, tokens per row."""
        return int(self.input_ids.shape[1])

    @property
    def documents(self) -> int | None:
        """How many documents lie in packed rows."""
        if self.starts is None:
            return None
        return int((self.starts == torch.arange(self.context)).sum())

    def on(self, device: str | torch.device) -> Batch:
        """With features on ``device``, copied in the order of the current stream."""
        return replace(self, features=self.features.to(device, non_blocking=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocks:
    """The draft blocks of one step: anchors i64 and keep bool [b, N], tokens i64 [b, N*B],
    labels i64 and weights f32 [b, N, B]; for packed rows also ``since`` i64 [b, N], where the
    document of each anchor begins.
    """

    anchors: Tensor
    keep: Tensor
    tokens: Tensor
    labels: Tensor
    weights: Tensor
    since: Tensor | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, as ``from_tensors`` takes them."""
        five = self.anchors, self.keep, self.tokens, self.labels, self.weights
        return five if self.since is None else (*five, self.since)

    @property
    def reach(self) -> Tensor | None:
        """Of packed rows: how many tokens of the context a block sees, f32, mean over all blocks,
        on the device of these.
        """
        if self.since is None:
            return None
        return ((self.anchors - self.since) * self.keep).float().mean()

    def planned(self, attention: Attention, context: int, block: int) -> Any:
        """The mask of these blocks, as the attention part prepares it."""
        more = () if self.since is None else (self.since,)
        return attention.plan(self.anchors, self.keep, context, block, *more)

    def on(self, device: str | torch.device) -> Blocks:
        """Copies on ``device``."""
        return Blocks.from_tensors(*(t.to(device, non_blocking=True) for t in self.tensors))

    @classmethod
    def from_tensors(cls, *tensors: Tensor) -> Blocks:
        """The inverse of ``tensors``."""
        anchors, keep, tokens, labels, weights, *since = tensors
        return cls(
            anchors=anchors, keep=keep, tokens=tokens, labels=labels, weights=weights,
            since=since[0] if since else None,
        )  # fmt: skip


def draw_blocks(
    batch: Batch,
    shape: DrafterShape,
    mask_token: int,
    generator: torch.Generator,
    convention: Convention = GIVEN,
) -> Blocks:
    """Fresh draft blocks for ``batch``; the generator is the only source of chance."""
    starts = batch.starts
    anchors, keep = sample_anchors(batch.loss_mask, shape.anchors, generator, starts)
    labels, weights = label_slots(
        batch.input_ids, batch.loss_mask, anchors, keep, shape.block, shape.gamma, convention,
        starts,
    )  # fmt: skip
    tokens = draft_tokens(batch.input_ids, anchors, mask_token, shape.block)
    return Blocks(
        anchors=anchors, keep=keep, tokens=tokens, labels=labels, weights=weights,
        since=None if starts is None else starts.gather(1, anchors),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Gear:
    """The live parts that one drafter's forward goes through."""

    attention: Attention
    checkpoint: Checkpoint
    loss: Loss
    locking: Locking
    layers: Layers
    convention: Convention = GIVEN


def draft_terms(
    drafter: Drafter,
    borrowed: Borrowed,
    features: Tensor,
    blocks: Blocks,
    *,
    gear: Gear,
    index: int,
) -> Terms:
    """Forward of drafter number ``index`` on ``blocks``; loss = numerator / denominator.

    All tensors live on the drafter's device. Slots that predict nothing are dropped before the
    loss, so that it never computes their logits.
    """
    context = features.shape[1]
    plan = blocks.planned(gear.attention, context, drafter.shape.block)

    def attend(phase: Phase, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        key = (tuple(q.shape), tuple(k.shape), torch.is_grad_enabled())
        call = Call(site="attention", drafter=index, phase=phase, key=key)
        return gear.locking.around(call, lambda: gear.attention.attend(q, k, v, plan))

    hidden = draft_hidden(
        drafter, borrowed, features, blocks, attend=attend, run_layer=gear.checkpoint.layer,
        layers=gear.layers,
    )  # fmt: skip
    first = gear.convention.first
    return gear.loss.terms(
        hidden[:, :, first:], blocks.labels[:, :, first:], blocks.weights[:, :, first:],
        borrowed.head, gear.checkpoint,
    )  # fmt: skip


def draft_hidden(
    drafter: Drafter,
    borrowed: Borrowed,
    features: Tensor,
    blocks: Blocks,
    *,
    attend: Attend,
    run_layer: RunLayer,
    layers: Layers | None = None,
) -> Tensor:
    """The drafter's output [b, N, B, h] for ``blocks``, ready for the borrowed head."""
    noise = borrowed.embed(blocks.tokens)
    if layers is None:
        return drafter(features, noise, blocks.anchors, attend=attend, run_layer=run_layer)
    return layers.hidden(
        drafter, features, noise, blocks.anchors, attend=attend, run_layer=run_layer
    )
