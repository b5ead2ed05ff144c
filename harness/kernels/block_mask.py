"""The DFlash mask as a BlockMask, computed from the anchors and not from Q x (S + Q) pairs.

How many pairs of a tile are visible is a sum over draft blocks: (queries of the block in the
tile's rows) x (keys of the tile that the block sees), which is one small matrix product. Evaluating
the predicate everywhere costs more than the attention it prepares. Nothing here waits for the
accelerator, so it can be part of a CUDA graph. Packed rows change nothing of what is kept by shape:
the context that a block sees is an interval there, its length in a tile the difference of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from harness.model.mask import dflash_mask_mod

TILE = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiling:
    """What depends on shapes alone: ``queries`` fp32 [query tiles, N], how many queries of a block
    lie in a tile's rows; ``own`` i64 [N, key tiles], how many of its own keys in a tile's columns;
    ``starts`` i64 [key tiles], where tiles begin.
    """

    queries: Tensor
    own: Tensor
    starts: Tensor

    @classmethod
    def of(cls, blocks: int, block: int, context: int, device: torch.device) -> Tiling:
        slots = blocks * block
        first = torch.arange(blocks, device=device) * block
        rows = torch.arange(0, slots, TILE, device=device)[:, None]
        starts = torch.arange(0, context + slots, TILE, device=device)
        keys = context + first[:, None]
        return cls(
            queries=_overlap(first, first + block, rows).float(),
            own=_overlap(keys, keys + block, starts),
            starts=starts,
        )

    def visible_pairs(self, anchors: Tensor, keep: Tensor, since: Tensor | None = None) -> Tensor:
        """How many (query, key) pairs are visible in each tile: fp32 [b, query tiles, key tiles].

        ``anchors`` i64 below the context's length, ``keep`` bool and ``since`` i64, at most the
        anchors, [b, N]. Exact: a tile has 2**14 pairs.
        """
        past = (anchors[..., None] - self.starts).clamp(min=0, max=TILE)
        if since is not None:
            past = past - (since[..., None] - self.starts).clamp(min=0, max=TILE)
        keys = (past + self.own) * keep[..., None]
        return self.queries @ keys.float()


class BlockMasks:
    """One drafter's block masks. What depends on shapes alone is made once and kept: it must
    outlive every CUDA graph that reads it.
    """

    def __init__(self) -> None:
        self._tilings: dict[tuple[Any, ...], Tiling] = {}

    def of(
        self, anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
    ) -> Any:
        """A BlockMask over [b, 1, Q, S + Q], equal in every field to ``create_block_mask``'s."""
        blocks, device = anchors.shape[1], anchors.device
        shape = (blocks, block, context, device)
        if shape not in self._tilings:
            self._tilings[shape] = Tiling.of(*shape)
        pairs = self._tilings[shape].visible_pairs(anchors, keep, since)[:, None]
        full = pairs == TILE * TILE
        tiles = torch.stack(((pairs > 0) & ~full, full))
        (partial_count, full_count), (partial, whole) = _ordered(tiles)
        # By columns too: left to torch this is half of all kernels of the plan.
        (q_partial_count, q_full_count), (q_partial, q_whole) = _ordered(tiles.transpose(-2, -1))
        return BlockMask(
            seq_lengths=(blocks * block, context + blocks * block),
            kv_num_blocks=partial_count, kv_indices=partial,
            full_kv_num_blocks=full_count, full_kv_indices=whole,
            q_num_blocks=q_partial_count, q_indices=q_partial,
            full_q_num_blocks=q_full_count, full_q_indices=q_whole,
            BLOCK_SIZE=(TILE, TILE),
            mask_mod=dflash_mask_mod(anchors, keep, context, block, since),
        )  # fmt: skip


def _overlap(begin: Tensor, end: Tensor, tile: Tensor) -> Tensor:
    """Length of [begin, end) inside the tile that starts at ``tile``."""
    return (torch.minimum(end, tile + TILE) - torch.maximum(begin, tile)).clamp(min=0)


def _ordered(tiles: Tensor) -> tuple[Tensor, Tensor]:
    """Tiles [.., rows, columns] bool as (how many per row, their columns first), both int32.

    Contiguous, whatever ``tiles`` is: compiled flex_attention reads the last dimension in steps of
    one and asks no stride of it. A sort keeps its input's strides, and from the transposed order
    kernels silently take other tiles (keys' and values' gradients were 20 to 90 % off).
    """
    counts = tiles.sum(dim=-1, dtype=torch.int32)
    order = tiles.byte().contiguous().argsort(dim=-1, descending=True, stable=True).int()
    return counts.contiguous(), order
