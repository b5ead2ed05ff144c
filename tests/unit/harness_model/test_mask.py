from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention.flex_attention import create_mask

from harness.model.mask import MaskMod, dense_mask, dflash_mask_mod


def by_the_rules(anchors: Tensor, keep: Tensor, context: int, block: int) -> Tensor:
    """The mask, pair by pair, from its description in words."""
    rows, blocks = anchors.shape
    seen = torch.zeros(rows, blocks * block, context + blocks * block, dtype=torch.bool)
    for row in range(rows):
        for mine in range(blocks):
            if not keep[row, mine]:
                continue  # an unused block sees nothing
            for slot in range(block):
                query = mine * block + slot
                for token in range(int(anchors[row, mine])):
                    seen[row, query, token] = True  # only tokens before the anchor
                for other in range(block):
                    seen[row, query, context + mine * block + other] = True  # both directions
    return seen


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Tensor, Tensor, int, int]:
    context, block = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    rows, blocks = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    place = st.lists(st.integers(0, context - 1), min_size=blocks, max_size=blocks)
    used = st.lists(st.booleans(), min_size=blocks, max_size=blocks)
    anchors = torch.tensor([sorted(draw(place)) for _ in range(rows)])
    return anchors, torch.tensor([draw(used) for _ in range(rows)]), context, block


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_dense_mask_is_the_description(layout: tuple[Tensor, Tensor, int, int]) -> None:
    assert torch.equal(dense_mask(*layout), by_the_rules(*layout))


def test_the_check_sees_a_leaky_mask() -> None:
    layout = torch.tensor([[2, 5]]), torch.ones(1, 2, dtype=torch.bool), 8, 4

    def leaky(anchors: Tensor, keep: Tensor, context: int, block: int) -> MaskMod:
        return dflash_mask_mod(anchors + 1, keep, context, block)

    wrong = dense_mask(*layout, mask_mod=leaky) ^ by_the_rules(*layout)
    assert wrong.sum() == 2 * 4  # one key too many for every slot: the anchor's feature


def test_flex_attention_reads_the_predicate_alike() -> None:
    anchors, keep = torch.tensor([[1, 4], [0, 7]]), torch.tensor([[True, True], [True, False]])
    mod = dflash_mask_mod(anchors, keep, 8, 3)
    flex = create_mask(mod, 2, 1, 6, 14, device="cpu")
    assert torch.equal(flex[:, 0], by_the_rules(anchors, keep, 8, 3))


def test_queries_past_the_end_read_nothing_out_of_bounds() -> None:
    mod = dflash_mask_mod(torch.tensor([[1, 4]]), torch.ones(1, 2, dtype=torch.bool), 8, 3)
    q = torch.arange(128)  # Q is 6; kernels round up to a tile
    assert mod(torch.tensor(0), torch.tensor(0), q, torch.tensor(0)).shape == (128,)


def test_every_predicate_runs_the_same_code() -> None:
    one = dflash_mask_mod(torch.zeros(1, 2).long(), torch.ones(1, 2).bool(), 8, 3)
    two = dflash_mask_mod(torch.ones(3, 4).long(), torch.ones(3, 4).bool(), 9, 2)
    assert one.__code__ is two.__code__  # type: ignore[attr-defined]
