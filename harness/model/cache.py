"""Keys and values of the tokens a model has already seen, for decoding."""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValues:
    """One (keys, values) pair per layer, each [b, n_kv, length, d]. Grows; can be cropped."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Tensor, Tensor]] = []

    @property
    def length(self) -> int:
        """Tokens held, counted on the first layer."""
        return int(self._pairs[0][0].shape[2]) if self._pairs else 0

    def joined(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """What is held for ``layer`` followed by ``keys`` and ``values``; nothing is kept."""
        if layer == len(self._pairs):
            return keys, values
        held_keys, held_values = self._pairs[layer]
        return torch.cat((held_keys, keys), dim=2), torch.cat((held_values, values), dim=2)

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep ``keys`` and ``values`` too, and return all of the layer."""
        pair = self.joined(layer, keys, values)
        self._pairs[layer : layer + 1] = [pair]
        return pair

    def crop(self, length: int) -> None:
        """Forget every token from position ``length`` on."""
        self._pairs = [(k[:, :, :length], v[:, :, :length]) for k, v in self._pairs]
