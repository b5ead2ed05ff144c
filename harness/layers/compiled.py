"""Two compiled functions per layer, and one that makes the context's keys for all layers at once.

Before attention: norm, projections, per-head norms, RoPE, the context's keys put in front. After
it: output projection and SwiGLU, with both residuals. Weights are arguments, so all layers share
each compiled function; each drafter and row length has its own, so that no recompile limit is
ever reached. Same arithmetic as ``plain``, in fewer kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fxrace.probe.part import Part
from harness.compiling import Run, at_home, compiled
from harness.config import Preset
from harness.contracts import Phase
from harness.model.drafter import Drafter, DraftLayer
from harness.model.layers import EPSILON
from harness.model.rope import Rotation, rotate


class Compiled:
    """One drafter's compiled functions."""

    def __init__(
        self,
        preset: Preset,  # noqa: ARG002 - shapes come with the tensors
        device: torch.device | None = None,
        run: Run = at_home,
        mode: str | None = None,
    ) -> None:
        self._run, self._mode = run, mode
        self._device = device or torch.device("cpu")
        self._made: dict[tuple[Callable[..., Any], int], Any] = {}
        self._tables: dict[tuple[int, torch.dtype], Rotation] = {}

    def hidden(
        self,
        drafter: Drafter,
        features: Tensor,
        noise: Tensor,
        anchors: Tensor,
        *,
        attend: Callable[..., Tensor],
        run_layer: Callable[..., Tensor],
    ) -> Tensor:
        """As ``Drafter.forward``."""
        length = features.shape[1]
        past_turn, turn = self._turns(drafter, length, anchors, noise.dtype)
        past = self._call(
            Phase.FORWARD, past_of_all_layers, length, features, *_past_weights(drafter),
            *past_turn,
        )  # fmt: skip
        hidden = noise
        for index, layer in enumerate(drafter.layers):
            keys, values = past[2 * index : 2 * index + 2]
            hidden = run_layer(self._layer(layer, attend), hidden, keys, values, *turn)
        return drafter.finish(hidden)

    def _turns(
        self, drafter: Drafter, length: int, anchors: Tensor, dtype: torch.dtype
    ) -> tuple[Rotation, Rotation]:
        """As ``Drafter.turns``, looked up: a table per row length is made once."""
        block = drafter.shape.block
        if (length, dtype) not in self._tables:
            nowhere = anchors.new_full((1, 1), length)
            (cos, sin), (more_cos, more_sin) = drafter.turns(length, nowhere, dtype)
            table = torch.cat((cos, more_cos), dim=2)[0, 0], torch.cat((sin, more_sin), dim=2)[0, 0]
            self._tables[length, dtype] = table
        slots = torch.arange(block, device=anchors.device)
        at = (anchors[:, :, None] + slots).flatten(1)
        cos, sin = self._tables[length, dtype]
        past = cos[None, None, :length], sin[None, None, :length]
        return past, (cos[at][:, None], sin[at][:, None])

    def _layer(self, layer: DraftLayer, attend: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """The layer as ``Checkpoint.layer`` calls it."""

        def run(
            phase: Phase, hidden: Tensor, keys: Tensor, values: Tensor, cos: Tensor, sin: Tensor
        ) -> Tensor:
            heads, mlp = layer.heads, layer.mlp
            q, k, v = self._call(
                phase, before_attention, keys.shape[2], hidden, layer.heads_norm.weight,
                heads.query.weight, heads.key_value.weight, heads.query_norm.weight,
                heads.key_norm.weight, keys, values, cos, sin,
            )  # fmt: skip
            out: Tensor = self._call(
                phase, after_attention, 0, attend(phase, q, k, v), hidden, heads.out.weight,
                layer.mlp_norm.weight, mlp.gate_up.weight, mlp.down.weight,
            )  # fmt: skip
            return out

        return run

    def _call(
        self, phase: Phase, function: Callable[..., Any], context: int, *tensors: Tensor
    ) -> Any:
        """``context`` is the row length that the function's shapes depend on, 0 for none."""
        made = self._made.get((function, context))
        if made is None:
            made = self._made[function, context] = compiled(function, self._device, self._mode)
        grad = any(tensor.requires_grad for tensor in tensors[:1])
        key = (function.__name__, context, torch.is_grad_enabled(), grad)
        return self._run("layer", phase, key, lambda: made(*tensors))


def past_of_all_layers(
    features: Tensor, fuse: Tensor, norm: Tensor, key_value: Tensor, key_norms: Tensor,
    cos: Tensor, sin: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(keys, values) of each layer in turn, each [b, n_kv, S, d]; one product for all of them.

    ``key_value`` [L, 2 n_kv d, h], ``key_norms`` [L, d].
    """
    layers, width = key_norms.shape
    context = _normed(F.linear(features, fuse), norm)
    both = F.linear(context, key_value.flatten(0, 1)).unflatten(-1, (layers, 2, -1, width))
    both = both.permute(2, 3, 0, 4, 1, 5)  # [L, 2, b, n_kv, S, d]
    out: list[Tensor] = []
    for layer in range(layers):
        out.append(rotate(_normed(both[layer, 0], key_norms[layer]), (cos, sin)).contiguous())
        out.append(both[layer, 1].contiguous())
    return tuple(out)


def before_attention(
    hidden: Tensor, norm: Tensor, query: Tensor, key_value: Tensor, query_norm: Tensor,
    key_norm: Tensor, past_keys: Tensor, past_values: Tensor, cos: Tensor, sin: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """q [b, n_q, Q, d], and keys and values [b, n_kv, S + Q, d] with the context's in front."""
    width, turn = query_norm.shape[0], (cos, sin)
    normed = _normed(hidden, norm)
    q = F.linear(normed, query).unflatten(-1, (-1, width)).transpose(1, 2)
    own = F.linear(normed, key_value).unflatten(-1, (2, -1, width)).permute(2, 0, 3, 1, 4)
    keys = rotate(_normed(own[0], key_norm), turn)
    return (
        rotate(_normed(q, query_norm), turn),
        torch.cat((past_keys, keys), dim=2),
        torch.cat((past_values, own[1]), dim=2),
    )


def after_attention(
    heads: Tensor, hidden: Tensor, out: Tensor, norm: Tensor, gate_up: Tensor, down: Tensor
) -> Tensor:
    """The layer's output [b, Q, h] from attention's [b, n_q, Q, d] and the layer's input."""
    hidden = hidden + F.linear(heads.transpose(1, 2).flatten(2), out)
    gate, up = F.linear(_normed(hidden, norm), gate_up).chunk(2, dim=-1)
    return hidden + F.linear(F.silu(gate) * up, down)


def _normed(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def _past_weights(drafter: Drafter) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    layers = [layer.heads for layer in drafter.layers]
    return (
        drafter.fuse.weight,
        drafter.fuse_norm.weight,
        torch.stack([heads.key_value.weight for heads in layers]),
        torch.stack([heads.key_norm.weight for heads in layers]),
    )


part = Part(build=Compiled)
