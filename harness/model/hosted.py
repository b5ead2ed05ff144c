"""A user's own target: a Hugging Face folder, run through transformers where that is installed.

Features are taken by hooks on the layers themselves, not from ``output_hidden_states``: the last
entry there has been through the final norm. Layers after the last captured one are cut off.

Documents of packed rows go through it as rows of their own. What a model makes of a mask with
borders depends on its kernels and on the version of transformers; what it makes of a row does not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.config import TargetShape
from harness.model.target import Borrowed, capture_layers


class NoModel(Exception):
    """The folder cannot be used; the message is one sentence."""


def shape_of(folder: Path) -> TargetShape:
    """The shape that the folder's config states, at weights that are given. Raises NoModel."""
    config = _loaded("AutoConfig", folder)
    heads = config.num_attention_heads
    return TargetShape(
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        heads=heads,
        kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        vocab=config.vocab_size,
        rope_theta=_theta(config),
    )


class Hosted:
    """As much of ``harness.model.target.Target`` as training drafters needs."""

    def __init__(self, folder: Path, captures: int, device: str, dtype: torch.dtype) -> None:
        model = _loaded("AutoModelForCausalLM", folder).to(dtype)
        self.shape = shape_of(folder)
        self.captured = capture_layers(self.shape.layers, captures)
        self._head = model.get_output_embeddings().weight.detach().to(device)
        self._embedding = model.get_input_embeddings().weight.detach().to(device)
        self._body = model.get_decoder() if hasattr(model, "get_decoder") else model.model
        self._body.layers = self._body.layers[: self.captured[-1] + 1]
        self._body.to(device).eval().requires_grad_(False)

    @property
    def layers(self) -> Any:
        """The decoder layers that are run."""
        return self._body.layers

    @property
    def borrowed(self) -> Borrowed:
        """The mask token is the last id: embeddings are padded beyond what tokenizers use."""
        return Borrowed(embedding=self._embedding, head=self._head, mask_token=self.shape.vocab - 1)

    def features(self, input_ids: Tensor, starts: Tensor | None = None) -> Tensor:
        """i64 [b, S] -> [b, S, K*h], without gradient.

        ``starts`` i64 [b, S], on the host: packed rows, where each token's document begins.
        """
        if starts is None:
            return self._states(input_ids)
        flat, out = input_ids.flatten(), None
        for places, real in alike(starts):
            states = self._states(flat[places.to(flat.device)]).flatten(0, 1)
            kept = real.flatten().nonzero()[:, 0]
            if out is None:
                out = states.new_empty(len(flat), states.shape[-1])
            at = places.flatten()[kept]
            out.index_copy_(0, at.to(out.device), states[kept.to(states.device)])
        assert out is not None, "there is no row without a document"
        return out.unflatten(0, input_ids.shape)

    def _states(self, input_ids: Tensor) -> Tensor:
        captured: dict[int, Tensor] = {}
        me = threading.get_ident()

        def keep(index: int) -> Any:
            def hook(_module: Any, _inputs: Any, output: Any) -> None:
                if threading.get_ident() != me:
                    return  # slots that share a device share this model
                captured[index] = output[0] if isinstance(output, tuple) else output

            return hook

        handles = [
            self._body.layers[index].register_forward_hook(keep(index)) for index in self.captured
        ]
        try:
            with torch.no_grad():
                self._body(input_ids=input_ids, use_cache=False)
        finally:
            for handle in handles:
                handle.remove()
        return torch.cat([captured[index] for index in self.captured], dim=-1)


def alike(starts: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The documents of packed rows as rows, those of about one length together.

    Places in the flattened micro-batch, i64 [documents, longest], the last one of a document
    repeated where it is shorter (a target looks back only), and bool which of them are real. Less
    than half of all places are not.
    """
    first = (starts == torch.arange(starts.shape[1])).flatten().nonzero()[:, 0]
    lengths = torch.cat((first[1:], torch.tensor([starts.numel()]))) - first
    sizes = torch.tensor([(length - 1).bit_length() for length in lengths.tolist()])
    for size in sizes.unique():
        mine = sizes == size
        slots, length = torch.arange(int(lengths[mine].max())), lengths[mine][:, None]
        yield first[mine][:, None] + torch.minimum(slots, length - 1), slots < length


def _loaded(kind: str, folder: Path) -> Any:
    try:
        transformers: Any = import_module("transformers")
    except ImportError as error:
        raise NoModel("it needs transformers in this interpreter: pip install transformers") from (
            error
        )
    try:
        return getattr(transformers, kind).from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise NoModel(f"{folder} cannot be loaded: {error}") from error


def _theta(config: Any) -> float:
    """Newer configs keep RoPE's base under ``rope_parameters``."""
    nested = getattr(config, "rope_parameters", None) or {}
    return float(nested.get("rope_theta") or getattr(config, "rope_theta", None) or 10_000.0)
