"""What the tests of the DFlash mathematics share: plain parts, a plain loop, small presets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from harness.attention.dense import Dense, DensePlan, plan_from
from harness.checkpoint.off import Off
from harness.config import DrafterShape, Preset
from harness.contracts import Attention, Phase
from harness.data.rows import language, rows
from harness.layers.plain import Plain
from harness.locking.none import NoLock
from harness.loss.chunked import Chunked
from harness.model.cache import KeyValues
from harness.model.drafter import Drafter, build_drafter
from harness.model.mask import dense_mask
from harness.model.target import Borrowed, Target
from harness.model.training import Batch, Blocks, Gear, draft_hidden, draft_terms, draw_blocks
from harness.recipes.tiny import preset as tiny

# Random weights, two draft layers: for what holds without training.
raw = replace(
    tiny,
    target=replace(tiny.target, train_steps=0),
    drafter=DrafterShape(layers=2, captures=2, block=4, anchors=5, gamma=4.0),
    rows=2,
)


class Leaky(Dense):
    """The classic mistake: a block also sees its own anchor's feature (kv <= anchor)."""

    def plan(self, anchors: Tensor, keep: Tensor, context: int, block: int) -> DensePlan:
        return plan_from(dense_mask(anchors + 1, keep, context, block))


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    drafter: Drafter
    first_loss: float
    last_loss: float


def batch_of(target: Target, preset: Preset, *, seed: int, index: int) -> Batch:
    context = preset.contexts[index % len(preset.contexts)]
    corpus = language(preset.target.vocab)
    input_ids, loss_mask = rows(
        corpus, seed=seed, index=index, rows=preset.rows, context=context
    )  # fmt: skip
    return Batch(input_ids=input_ids, loss_mask=loss_mask, features=target.features(input_ids))


def without_context(batch: Batch) -> Batch:
    """The same batch with its features zeroed: all the drafter sees is the anchor token."""
    return replace(batch, features=torch.zeros_like(batch.features))


def train(
    target: Target,
    preset: Preset,
    *,
    steps: int,
    seed: int,
    attention: Attention | None = None,
    view: Callable[[Batch], Batch] = lambda batch: batch,
) -> Trained:
    """A plain training loop; losses are means over the first step and the last ten."""
    drafter, losses = build_drafter(preset, seed=seed, device="cpu"), []
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(
        drafter.parameters(), lr=preset.learning_rate, weight_decay=preset.weight_decay
    )
    for step in range(steps):
        batch = view(batch_of(target, preset, seed=seed, index=step))
        loss = terms_loss(drafter, target.borrowed, batch, preset, generator, attention)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(drafter.parameters(), preset.clip_norm)
        optimizer.step()
        losses.append(loss.item())
    return Trained(drafter=drafter, first_loss=losses[0], last_loss=sum(losses[-10:]) / 10)


def plain_gear(preset: Preset, **other: Any) -> Gear:
    """Parts with nothing special about them, but for the ``other`` ones."""
    usual = {
        "attention": Dense(),
        "checkpoint": Off(),
        "loss": Chunked(preset),
        "locking": NoLock(),
        "layers": Plain(),
    }
    return Gear(**{**usual, **other})


def terms_loss(
    drafter: Drafter,
    borrowed: Borrowed,
    batch: Batch,
    preset: Preset,
    generator: torch.Generator,
    attention: Attention | None = None,
) -> Tensor:
    blocks = draw_blocks(batch, preset.drafter, borrowed.mask_token, generator)
    gear = plain_gear(preset, attention=attention or Dense())
    terms = draft_terms(drafter, borrowed, batch.features, blocks, gear=gear, index=0)
    return terms.numerator / terms.denominator


def hidden_of(
    drafter: Drafter, borrowed: Borrowed, batch: Batch, blocks: Blocks, attention: Attention
) -> Tensor:
    """Training's view: all blocks at once, under the attention part's mask."""
    plan = blocks.planned(attention, batch.context, drafter.shape.block)

    def attend(phase: Phase, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention.attend(q, k, v, plan)

    return draft_hidden(
        drafter, borrowed, batch.features, blocks, attend=attend, run_layer=Off().layer
    )


def decoded_view(drafter: Drafter, borrowed: Borrowed, batch: Batch, blocks: Blocks) -> Tensor:
    """Decoding's view: block by block, after a memory of exactly the tokens before the anchor."""
    noise = borrowed.embed(blocks.tokens).unflatten(1, (-1, drafter.shape.block))
    out = torch.zeros_like(noise)
    for row, anchors in enumerate(blocks.anchors.tolist()):
        for number, anchor in enumerate(anchors):
            memory = KeyValues()
            drafter.remember(batch.features[row : row + 1, :anchor], memory)
            out[row, number] = drafter.propose(noise[row, number][None], memory, unmasked)[0]
    return out


def unmasked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v


def views_differ(
    drafter: Drafter, borrowed: Borrowed, batch: Batch, blocks: Blocks, attention: Attention
) -> float:
    """Largest difference between what training and decoding compute for the same blocks."""
    with torch.no_grad():
        trained = hidden_of(drafter, borrowed, batch, blocks, attention)[blocks.keep]
        decoded = decoded_view(drafter, borrowed, batch, blocks)[blocks.keep]
    return float((trained - decoded).abs().max())
