"""How much arithmetic a DFlash step takes, from shapes alone.

Two FLOPs per multiply-add, matrix products only. Attention counts the pairs that the mask lets
through, whatever the kernel does: a dense fallback works harder for the same result and must not
look faster for it. Recompute is not counted, so figures compare across checkpoint parts.

Packed rows: everything but attention is as in any row of that length, since it works on every token
and slot. Attention counts what the mask lets through between borders, from the anchors that each
step drew (``reach``; a block that is not used sees no context there); the mean of a row that is one
document would make figures of packed runs too high. The target's part is a prediction made before
anything is read, and takes a row for one document.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.config import DrafterShape, Preset, TargetShape
from harness.model.target import capture_layers

ANCHOR_SHARE = 0.5
"""Mean anchor position / S when the whole row is supervised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftFlops:
    """Forward FLOPs of the drafter for one row, by what they are spent on.

    ``fuse``: K features to one context; ``context``: its keys and values in every layer;
    ``project``: q, k, v and output of the draft stream; ``head``: logits of slots 1 .. B-1.
    """

    fuse: float
    context: float
    project: float
    mlp: float
    attention: float
    head: float

    @property
    def forward(self) -> float:
        """All of the forward pass."""
        return (
            self.fuse + self.context + self.project + self.mlp + self.attention + self.head
        )  # fmt: skip

    @property
    def backward(self) -> float:
        """Two products per forward product; one where an input is frozen (features, head);
        2.5 for attention, whose fused kernels compute the scores a second time.
        """
        trained = self.context + self.project + self.mlp
        return self.fuse + 2 * trained + 2.5 * self.attention + self.head


def draft_flops(
    target: TargetShape, drafter: DrafterShape, *, context: int, visible: float | None = None
) -> DraftFlops:
    """The drafter's forward FLOPs for one row of ``context`` tokens.

    ``visible`` is the mean number of keys that a draft slot sees; by default the context before
    a uniformly drawn anchor plus its own block.
    """
    hidden, layers, slots = target.hidden, drafter.layers, drafter.anchors * drafter.block
    queries = target.heads * target.head_dim
    keys = target.kv_heads * target.head_dim
    if visible is None:
        visible = ANCHOR_SHARE * context + drafter.block
    return DraftFlops(
        fuse=2.0 * context * drafter.captures * hidden**2,
        context=2.0 * context * hidden * 2 * keys * layers,
        project=2.0 * slots * (2 * hidden * queries + 2 * hidden * keys) * layers,
        mlp=6.0 * slots * hidden * target.intermediate * layers,
        attention=4.0 * queries * slots * visible * layers,
        head=2.0 * drafter.anchors * (drafter.block - 1) * hidden * target.vocab,
    )


def step_flops(preset: Preset, context: int, reach: float | None = None) -> float:
    """Forward and backward of one drafter step: ``preset.rows`` rows of ``context`` tokens.

    ``reach``, of packed rows: tokens of the context that a block saw, mean over all blocks.
    """
    row = _row(preset, context, reach)
    return preset.rows * (row.forward + row.backward)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recomputed:
    """What a step computes a second time: layers, and the logits."""

    layers: bool = False
    head: bool = False


def hardware_flops(
    preset: Preset, context: int, again: Recomputed, reach: float | None = None
) -> float:
    """As ``step_flops``, with what is recomputed: what the device does, not what it is good for."""
    row = _row(preset, context, reach)
    layers = row.project + row.mlp + row.attention
    # A plain layer makes the context's keys itself; compiled layers get them from outside.
    layers += 0.0 if preset.compiled_layers else row.context
    extra = layers * again.layers + row.head * again.head
    return step_flops(preset, context, reach) + preset.rows * extra


def _row(preset: Preset, context: int, reach: float | None) -> DraftFlops:
    visible = None if reach is None else reach + preset.drafter.block
    return draft_flops(preset.target, preset.drafter, context=context, visible=visible)


def feature_flops(target: TargetShape, captures: int, *, context: int) -> float:
    """The frozen target's FLOPs for the features of one row: layers up to the last captured."""
    return sum(feature_parts(target, captures, context=context))


def feature_parts(target: TargetShape, captures: int, *, context: int) -> tuple[float, float]:
    """Of ``feature_flops`` the products with weights, and attention."""
    queries = target.heads * target.head_dim
    keys = target.kv_heads * target.head_dim
    weights = target.hidden * (2 * queries + 2 * keys + 3 * target.intermediate)
    depth = capture_layers(target.layers, captures)[-1] + 1
    return depth * context * 2.0 * weights, depth * context * 2.0 * queries * context
