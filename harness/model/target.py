"""The frozen target: a Qwen3-style decoder whose inner states feed the drafters.

Pre-norm, grouped queries, per-head norm on q and k before RoPE, SwiGLU, untied head. Features are
the residual stream after a few layers spread over the depth; the last layers and the head are
not needed for them and are not run.

In packed rows a token sees its own document only, and positions begin at 0 in each, so that a
document's features are those that it has alone. The mask alone would do, since RoPE turns by
differences of positions; positions begin anew as in public trainers (NeMo AutoModel #3004), where a
target may have others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from harness.config import TargetShape
from harness.model.cache import KeyValues
from harness.model.layers import Heads, Linear, RMSNorm, SwiGLU
from harness.model.rope import Rotation, rotation


def capture_layers(layers: int, captures: int) -> tuple[int, ...]:
    """Indices of the layers whose output is captured: round(1 + i (T - 4) / (K - 1)).

    One capture takes the middle layer. Targets too shallow for K different layers under that
    rule capture layers 1 .. K.
    """
    if captures == 1:
        return (layers // 2,)
    if captures >= layers:
        raise ValueError(f"{layers} layers cannot give {captures} captures")
    span = max(layers - 4, captures - 1)
    return tuple(round(1 + i * span / (captures - 1)) for i in range(captures))


@dataclass(frozen=True, kw_only=True, slots=True)
class Borrowed:
    """What drafters borrow from the target, frozen: ``embedding`` and ``head``, both [V, h].

    ``mask_token`` is a reserved id that no text contains; its embedding is whatever the target
    happens to have there.
    """

    embedding: Tensor
    head: Tensor
    mask_token: int

    def embed(self, tokens: Tensor) -> Tensor:
        """i64 [...] -> [..., h]."""
        return F.embedding(tokens, self.embedding)

    def on(self, device: str | torch.device) -> Borrowed:
        """A copy on ``device``; itself where it is there already."""
        return Borrowed(
            embedding=self.embedding.to(device),
            head=self.head.to(device),
            mask_token=self.mask_token,
        )


class TargetLayer(nn.Module):  # type: ignore[misc]
    """One causal decoder layer."""

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
        cache: KeyValues,
        index: int,
        reach: Tensor | None = None,
    ) -> Tensor:
        normed = self.heads_norm(hidden)
        keys, values = cache.extend(index, *self.heads.keys_values(normed, turn))
        heads = _causal(self.heads.queries(normed, turn), keys, values, reach)
        hidden = hidden + self.heads.merge(heads)
        return hidden + self.mlp(self.mlp_norm(hidden))


class Target(nn.Module):  # type: ignore[misc]
    """Weights are uninitialised; ``pretrain.load_target`` gives a usable one."""

    def __init__(self, shape: TargetShape, captures: int) -> None:
        super().__init__()
        self.shape = shape
        self.captured = capture_layers(shape.layers, captures)
        self.embedding = nn.Parameter(torch.empty(shape.vocab, shape.hidden))
        self.layers = nn.ModuleList(TargetLayer(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.hidden)
        self.head = Linear(shape.hidden, shape.vocab)

    @property
    def borrowed(self) -> Borrowed:
        """Embedding and head as drafters need them; shares storage with this target."""
        return Borrowed(
            embedding=self.embedding.detach(),
            head=self.head.weight.detach(),
            mask_token=self.shape.vocab - 1,
        )

    def features(self, input_ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """i64 [b, S] -> [b, S, K*h], without gradient; stops after the last captured layer.

        ``starts`` i64 [b, S], on any device: packed rows, where each token's document begins.
        """
        with torch.no_grad():
            _, captured = self._run(input_ids, KeyValues(), self.captured[-1] + 1, starts)
        return torch.cat(captured, dim=-1)

    def state(self, input_ids: Tensor, layers: int, starts: Tensor | None = None) -> Tensor:
        """i64 [b, S] -> [b, S, h]: the residual stream after so many layers. ``starts`` as for
        ``features``. Plain PyTorch where gradients flow, else what features are made by.
        """
        hidden, _ = self._run(input_ids, KeyValues(), layers, starts)
        return hidden

    def logits(self, input_ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """i64 [b, S] -> [b, S, V]; for training the target. ``starts`` as for ``features``."""
        return self.head(self.norm(self.state(input_ids, self.shape.layers, starts)))

    def decode(self, input_ids: Tensor, cache: KeyValues) -> tuple[Tensor, Tensor]:
        """Continue after what ``cache`` holds: logits [b, q, V] and features [b, q, K*h].

        The new tokens' keys and values are added to ``cache``.
        """
        with torch.no_grad():
            hidden, captured = self._run(input_ids, cache, self.shape.layers)
            return self.head(self.norm(hidden)), torch.cat(captured, dim=-1)

    def _run(
        self, input_ids: Tensor, cache: KeyValues, depth: int, starts: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        shape, start, reach = self.shape, cache.length, None
        hidden = F.embedding(input_ids, self.embedding)
        stop = start + input_ids.shape[1]
        positions = torch.arange(start, stop, device=input_ids.device)[None]
        if starts is not None:
            starts = starts.to(input_ids.device)
            reach, positions = _within(starts), positions - starts
        turn = rotation(positions, shape.head_dim, shape.rope_theta, hidden.dtype)
        captured = []
        for index, layer in enumerate(self.layers[:depth]):
            hidden = layer(hidden, turn, cache, index, reach)
            if index in self.captured:
                captured.append(hidden)
        return hidden, captured


def _within(starts: Tensor) -> Tensor:
    """Who sees whom in packed rows: bool [b, 1, S, S], own document and not later."""
    place = torch.arange(starts.shape[1], device=starts.device)
    return ((place <= place[:, None]) & (place >= starts[:, :, None]))[:, None]


def _causal(queries: Tensor, keys: Tensor, values: Tensor, reach: Tensor | None) -> Tensor:
    """Attention of the last T tokens over all; q [b, n_q, T, d], k and v [b, n_kv, past + T, d].

    ``reach``, where it is given, says who sees whom in place of "not later".
    """
    length, total = queries.shape[2], keys.shape[2]
    fused, causal = length == total and not torch.is_grad_enabled(), reach is None
    if fused and causal and queries.is_cuda:  # its kernels share a group's keys; others copy
        return F.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
    group = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
    if fused:
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=reach, is_causal=causal
        )
    if reach is None:
        reach = torch.ones(length, total, dtype=torch.bool, device=queries.device)
        reach = reach.tril(total - length)
    hidden = ~reach
    # Written out where gradients flow: fused backward kernels add in any order, and a target
    # trained twice must be the same target.
    scores = queries @ keys.transpose(-1, -2) * queries.shape[-1] ** -0.5
    return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ values
