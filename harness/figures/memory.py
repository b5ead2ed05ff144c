"""How much memory a run will need, from shapes alone: printed before, compared with the peak.

It counts what must be there at once: weights with optimizer state, borrowed matrices, the frozen
target, features in flight, and the activations that one step keeps for backward. Fragmentation,
workspaces and what compilers hold are not in it, so the measured peak is somewhat larger.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import Preset
from harness.model.target import capture_layers

MASTERED, PLAIN = 16, 16
"""Bytes per trained weight: bf16 weight and gradient with fp32 master, gradient and two moments
(2 + 2 + 4 + 8; a gradient that is widened replaces the narrow one), or all four in fp32.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes, by what they hold; per drafter or target slot."""

    weights: int
    borrowed: int
    activations: int
    loss: int
    target: int
    features: int

    @property
    def drafter(self) -> int:
        """One drafter slot: everything it keeps at the peak of a step."""
        return self.weights + self.borrowed + self.activations + self.loss + self.features


def drafter_parameters(preset: Preset) -> int:
    """Trainable weights of one drafter."""
    target, drafter = preset.target, preset.drafter
    queries, keys = target.heads * target.head_dim, target.kv_heads * target.head_dim
    layer = target.hidden * (2 * queries + 2 * keys + 3 * target.intermediate + 2)
    fuse = drafter.captures * target.hidden**2 + target.hidden
    return fuse + drafter.layers * (layer + 2 * target.head_dim) + target.hidden


def batch_bytes(preset: Preset, context: int, *, width: int) -> int:
    """A micro-batch on its way: features, token ids and the loss mask. ``width`` bytes a number."""
    row = context * (preset.drafter.captures * preset.target.hidden * width + 8 + 1)
    return preset.rows * row


def predicted(
    preset: Preset, *, width: int, logits_rows: int | None = None, recompute: bool = False
) -> Memory:
    """Memory at the longest context. ``width`` is bytes per activation; ``logits_rows`` draft
    slots have logits at once (default: one loss chunk); ``recompute`` keeps layer inputs only.
    """
    target, drafter, context = preset.target, preset.drafter, max(preset.contexts)
    queries, keys = target.heads * target.head_dim, target.kv_heads * target.head_dim
    slots = preset.rows * preset.slots_per_row
    per_slot = target.hidden * 4 + queries * 3 + 3 * target.intermediate
    per_key = 3 * 2 * keys
    layer = slots * per_slot + preset.rows * (context + preset.slots_per_row) * per_key
    kept = slots * target.hidden if recompute else layer
    if logits_rows is None:
        logits_rows = preset.rows * preset.chunk_blocks * drafter.block
    depth = capture_layers(target.layers, drafter.captures)[-1] + 1
    body = target.hidden * (2 * queries + 2 * keys + 3 * target.intermediate)
    return Memory(
        weights=drafter_parameters(preset) * (MASTERED if width == 2 else PLAIN),
        borrowed=2 * target.vocab * target.hidden * width,
        activations=width * (drafter.layers * kept + (layer if recompute else 0)),
        loss=logits_rows * target.vocab * (width + 4),
        target=width * depth * body + 2 * width * target.vocab * target.hidden,
        features=preset.queue_depth * batch_bytes(preset, context, width=width),
    )
