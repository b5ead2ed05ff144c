"""The DFlash mask as a BlockMask, computed from the anchors and not from Q x (S + Q) pairs.

How many pairs of a tile are visible is a sum over draft blocks: (queries of the block in the
tile's rows) x (keys of the tile that the block sees), which is one small matrix product. Evaluating
the predicate everywhere costs more than the attention it prepares. Nothing here waits for the
accelerator, so it can be part of a CUDA graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from harness.model.mask import dflash_mask_mod

TILE = 128


def visible_pairs(anchors: Tensor, keep: Tensor, context: int, block: int) -> Tensor:
    """How many (query, key) pairs are visible in each tile: fp32 [b, query tiles, key tiles].

    ``anchors`` i64 and ``keep`` bool [b, N]. Exact: a tile has 2**14 pairs.
    """
    blocks, device = anchors.shape[1], anchors.device
    slots = blocks * block
    starts = torch.arange(0, slots, TILE, device=device)[:, None]
    first = torch.arange(blocks, device=device) * block
    queries = _overlap(first, first + block, starts)
    tiles = torch.arange(0, context + slots, TILE, device=device)
    nothing = torch.zeros_like(anchors)
    past = _overlap(nothing[..., None], anchors.clamp(max=context)[..., None], tiles)
    own = _overlap((context + first)[:, None], (context + first + block)[:, None], tiles)
    keys = (past + own) * keep[..., None]
    return queries.float() @ keys.float()


def block_mask(anchors: Tensor, keep: Tensor, context: int, block: int) -> Any:
    """A BlockMask over [b, 1, Q, S + Q], equal in every field to ``create_block_mask``'s."""
    slots = anchors.shape[1] * block
    pairs = visible_pairs(anchors, keep, context, block)[:, None]
    full = pairs == TILE * TILE
    partial = (pairs > 0) & ~full
    return BlockMask.from_kv_blocks(
        *_ordered(partial),
        *_ordered(full),
        BLOCK_SIZE=TILE,
        mask_mod=dflash_mask_mod(anchors, keep, context, block),
        seq_lengths=(slots, context + slots),
    )


def _overlap(begin: Tensor, end: Tensor, tile: Tensor) -> Tensor:
    """Length of [begin, end) inside the tile that starts at ``tile``."""
    return (torch.minimum(end, tile + TILE) - torch.maximum(begin, tile)).clamp(min=0)


def _ordered(tiles: Tensor) -> tuple[Tensor, Tensor]:
    """Tiles [.., rows, columns] bool as (how many per row, their columns first), both int32."""
    counts = tiles.sum(dim=-1, dtype=torch.int32)
    return counts, tiles.int().argsort(dim=-1, descending=True, stable=True).int().contiguous()
