"""The DFlash drafter: a few layers that fill a whole block of masked tokens in one pass.

The target's features are fused once into a context C = RMSNorm(W concat(H)), which enters every
layer as extra keys and values and is itself never updated. The draft stream is the frozen
embedding of [anchor, mask, ...]; its output goes through the target's frozen head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from harness.config import DrafterShape, Preset, TargetShape
from harness.contracts import Phase
from harness.model.cache import KeyValues
from harness.model.layers import Heads, Linear, RMSNorm, SwiGLU, initialise
from harness.model.rope import Rotation, rotation

Attend = Callable[[Phase, Tensor, Tensor, Tensor], Tensor]
"""(phase, q [b, n_q, Q, d], k, v [b, n_kv, S+Q, d]) -> [b, n_q, Q, d]."""


class RunLayer(Protocol):
    """``Checkpoint.layer``: calls ``fn(phase, *tensors)`` now, and again when recomputing."""

    def __call__(self, fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor: ...


class DraftLayer(nn.Module):  # type: ignore[misc]
    """One draft layer. The context does not pass the layer's input norm."""

    def __init__(self, shape: TargetShape) -> None:
        super().__init__()
        self.heads = Heads(shape)
        self.mlp = SwiGLU(shape.hidden, shape.intermediate)
        self.heads_norm = RMSNorm(shape.hidden)
        self.mlp_norm = RMSNorm(shape.hidden)

    def forward(
        self,
        hidden: Tensor,
        turn: Rotation,
        attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    ) -> Tensor:
        """``attend(q, k, v)`` gets the draft stream's own heads and adds the context's."""
        normed = self.heads_norm(hidden)
        keys, values = self.heads.keys_values(normed, turn)
        hidden = hidden + self.heads.merge(attend(self.heads.queries(normed, turn), keys, values))
        return hidden + self.mlp(self.mlp_norm(hidden))


class Drafter(nn.Module):  # type: ignore[misc]
    """Weights are uninitialised fp32; ``build_drafter`` gives a usable one."""

    def __init__(self, target: TargetShape, drafter: DrafterShape) -> None:
        super().__init__()
        self.shape, self.target = drafter, target
        self.fuse = Linear(drafter.captures * target.hidden, target.hidden)
        self.fuse_norm = RMSNorm(target.hidden)
        self.layers = nn.ModuleList(DraftLayer(target) for _ in range(drafter.layers))
        self.norm = RMSNorm(target.hidden)

    def forward(
        self,
        features: Tensor,
        noise: Tensor,
        anchors: Tensor,
        *,
        attend: Attend,
        run_layer: RunLayer,
    ) -> Tensor:
        """features [b, S, K*h], noise [b, N*B, h], anchors [b, N] -> hidden [b, N, B, h].

        Context token t has position t; slot k of block j has position anchors[j] + k. In packed
        rows too: RoPE knows differences only, and the mask lets none cross a border, so positions
        that begin anew in each document would give the same numbers and a rotation per row.
        """
        context = self._fused(features)
        past, ahead = self.turns(features.shape[1], anchors, noise.dtype)
        hidden = noise
        for layer in self.layers:
            hidden = run_layer(_with_context(layer, attend), hidden, context, *past, *ahead)
        return self.finish(hidden)

    def turns(self, context: int, anchors: Tensor, dtype: torch.dtype) -> tuple[Rotation, Rotation]:
        """Rotations of ``context`` tokens, and of the draft slots of blocks at ``anchors``."""
        past = torch.arange(context, device=anchors.device)[None]
        slots = torch.arange(self.shape.block, device=anchors.device)
        ahead = (anchors[:, :, None] + slots).flatten(1)
        return self._turn(past, dtype), self._turn(ahead, dtype)

    def finish(self, hidden: Tensor) -> Tensor:
        """The layers' output [b, N*B, h], normalised, as [b, N, B, h]."""
        return self.norm(hidden).unflatten(1, (-1, self.shape.block))

    def remember(self, features: Tensor, cache: KeyValues) -> None:
        """Decoding: project newly verified tokens' features [b, n, K*h] into ``cache``."""
        start = cache.length
        positions = torch.arange(start, start + features.shape[1], device=features.device)[None]
        context, turn = self._fused(features), self._turn(positions, features.dtype)
        for index, layer in enumerate(self.layers):
            cache.extend(index, *layer.heads.keys_values(context, turn))

    def propose(
        self,
        noise: Tensor,
        cache: KeyValues,
        attend: Callable[[Tensor, Tensor, Tensor], Tensor],
    ) -> Tensor:
        """Decoding: fill one block, noise [b, B, h], that starts right after ``cache``.

        Everything is visible to everything: the cache ends before the anchor. The block's own
        keys are not kept.
        """
        positions = torch.arange(self.shape.block, device=noise.device)[None] + cache.length
        turn, hidden = self._turn(positions, noise.dtype), noise
        for index, layer in enumerate(self.layers):

            def over_cache(q: Tensor, k: Tensor, v: Tensor, index: int = index) -> Tensor:
                return attend(q, *cache.joined(index, k, v))

            hidden = layer(hidden, turn, over_cache)
        return self.norm(hidden)

    def _fused(self, features: Tensor) -> Tensor:
        return self.fuse_norm(self.fuse(features))

    def _turn(self, positions: Tensor, dtype: torch.dtype) -> Rotation:
        return rotation(positions, self.target.head_dim, self.target.rope_theta, dtype)


def build_drafter(
    preset: Preset,
    *,
    seed: int,
    device: str | torch.device,
    dtype: torch.dtype = torch.float32,
) -> Drafter:
    """A freshly initialised drafter; equal seeds give equal weights on one kind of device."""
    with torch.device(device):
        drafter = Drafter(preset.target, preset.drafter)
    initialise(drafter, torch.Generator(device).manual_seed(seed))
    drafter.to(dtype)
    return drafter


def _with_context(layer: DraftLayer, attend: Attend) -> Callable[..., Tensor]:
    """The layer as ``Checkpoint.layer`` calls it: every activation is an argument."""

    def run(
        phase: Phase,
        hidden: Tensor,
        context: Tensor,
        past_cos: Tensor,
        past_sin: Tensor,
        cos: Tensor,
        sin: Tensor,
    ) -> Tensor:
        past = layer.heads.keys_values(context, (past_cos, past_sin))

        def over_context(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = (torch.cat(pair, dim=2) for pair in zip(past, (k, v), strict=True))
            return attend(phase, q, keys, values)

        return layer(hidden, (cos, sin), over_context)

    return run
