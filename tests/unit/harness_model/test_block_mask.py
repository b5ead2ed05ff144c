"""The BlockMask from anchors is ``create_block_mask``'s, in every field and every stride."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

from harness.kernels.block_mask import TILE, BlockMasks, Tiling
from harness.model.mask import dense_mask, dflash_mask_mod

CPU = torch.device("cpu")
FIELDS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
    "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip
# context, blocks, block: tiles that straddle context and draft, blocks that straddle tiles,
# whole tiles in the past, one tile in all.
SHAPES = [(64, 8, 8), (300, 40, 16), (512, 64, 10), (640, 20, 128), (96, 3, 7)]


def drawn(context: int, blocks: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two rows: sorted anchors with unused blocks at the end, and all of them used."""
    generator = torch.Generator().manual_seed(seed)
    anchors = torch.randint(0, context - 1, (2, blocks), generator=generator).sort().values
    keep = torch.ones(2, blocks, dtype=torch.bool)
    unused = blocks // 3
    if unused:
        anchors[0, -unused:], keep[0, -unused:] = context - 1, False
    return anchors, keep


@pytest.mark.parametrize(("context", "blocks", "block"), SHAPES)
def test_it_equals_the_one_from_the_predicate(context: int, blocks: int, block: int) -> None:
    anchors, keep = drawn(context, blocks, seed=context)
    slots = blocks * block
    masks = BlockMasks()
    masks.of(anchors.flip(0), keep, context, block)  # what is kept must not depend on anchors
    mine = masks.of(anchors, keep, context, block)
    theirs = create_block_mask(
        dflash_mask_mod(anchors, keep, context, block), 2, None, slots, context + slots,
        device="cpu",
    )  # fmt: skip
    assert mine.seq_lengths == theirs.seq_lengths
    assert mine.BLOCK_SIZE == theirs.BLOCK_SIZE
    for field in FIELDS:
        one, two = getattr(mine, field), getattr(theirs, field)
        assert one.dtype == two.dtype
        assert torch.equal(one, two), field
        # No value shows it and kernels go by it: they take the last dimension for contiguous.
        assert one.stride() == two.stride(), field


def test_tiles_count_visible_pairs_exactly() -> None:
    context, blocks, block = 300, 40, 16
    anchors, keep = drawn(context, blocks, seed=1)
    mask = dense_mask(anchors, keep, context, block).float()
    rows, keys = (-size % TILE for size in mask.shape[1:])
    padded = torch.nn.functional.pad(mask, (0, keys, 0, rows))
    tiles = padded.unflatten(2, (-1, TILE)).unflatten(1, (-1, TILE)).sum(dim=(2, 4))
    assert torch.equal(Tiling.of(blocks, block, context, CPU).visible_pairs(anchors, keep), tiles)


def test_most_tiles_are_empty_at_paper_shapes() -> None:
    generator = torch.Generator().manual_seed(0)
    anchors = torch.randperm(3070, generator=generator)[:512].sort().values[None]
    keep = torch.ones(1, 512, dtype=torch.bool)
    pairs = Tiling.of(512, 16, 3072, CPU).visible_pairs(anchors, keep)
    assert pairs.shape == (1, 64, 88)
    assert 0.1 < (pairs > 0).float().mean() < 0.2
