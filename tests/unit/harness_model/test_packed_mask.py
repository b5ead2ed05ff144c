"""Masks, anchors and labels of packed rows against the specification, on random packings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask
from torch.utils._python_dispatch import TorchDispatchMode

from harness.kernels.block_mask import BlockMasks
from harness.model.anchors import label_slots, sample_anchors
from harness.model.mask import dense_mask, dflash_mask_mod
from harness.numerics import Convention
from tests.unit.harness_model.packing import numbers_of, packings, starts_of
from tests.unit.harness_model.test_block_mask import FIELDS

WAITS = ("_local_scalar_dense", "nonzero", "item")
"""Operations that wait for the accelerator."""


def visible(
    lengths: list[list[int]], anchors: Tensor, keep: Tensor, context: int, block: int
) -> Tensor:
    """The mask, pair by pair: doc[kv] == doc[anchor] in the context, own block whole."""
    rows, blocks = anchors.shape
    seen = torch.zeros(rows, blocks * block, context + blocks * block, dtype=torch.bool)
    for row, number in enumerate(numbers_of(lengths)):
        for j in range(blocks):
            if not keep[row, j]:
                continue
            anchor, slots = int(anchors[row, j]), slice(j * block, (j + 1) * block)
            for kv in range(context):
                seen[row, slots, kv] = kv < anchor and number[kv] == number[anchor]
            seen[row, slots, context + j * block : context + (j + 1) * block] = True
    return seen


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[list[int]], Tensor, Tensor, int, int]:
    context, block = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    rows, blocks = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    place = st.lists(st.integers(0, context - 1), min_size=blocks, max_size=blocks)
    used = st.lists(st.booleans(), min_size=blocks, max_size=blocks)
    anchors = torch.tensor([sorted(draw(place)) for _ in range(rows)])
    keep = torch.tensor([draw(used) for _ in range(rows)])
    return draw(packings(context=context, rows=rows)), anchors, keep, context, block


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_the_mask_is_the_specification(layout: Any) -> None:
    lengths, anchors, keep, context, block = layout
    since = starts_of(lengths).gather(1, anchors)
    wanted = visible(lengths, anchors, keep, context, block)
    assert torch.equal(dense_mask(anchors, keep, context, block, since), wanted)


def test_the_check_sees_a_mask_without_borders() -> None:
    anchors, keep = torch.tensor([[2, 6]]), torch.ones(1, 2, dtype=torch.bool)
    wrong = dense_mask(anchors, keep, 8, 3) ^ visible([[4, 4]], anchors, keep, 8, 3)
    assert wrong.sum() == 4 * 3  # the second block's slots see the first document


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_the_block_mask_equals_the_one_from_the_predicate(data: st.DataObject) -> None:
    context, blocks, block = data.draw(st.sampled_from([(300, 40, 16), (260, 5, 128), (96, 3, 7)]))
    lengths = data.draw(packings(context=context, rows=2))
    place = st.lists(st.integers(0, context - 2), min_size=blocks, max_size=blocks)
    anchors = torch.tensor([sorted(data.draw(place)) for _ in range(2)])
    keep = torch.ones(2, blocks, dtype=torch.bool)
    keep[0, -1], anchors[0, -1] = False, context - 1
    since, slots = starts_of(lengths).gather(1, anchors), blocks * block
    mine = BlockMasks().of(anchors, keep, context, block, since)
    theirs = create_block_mask(
        dflash_mask_mod(anchors, keep, context, block, since), 2, None, slots, context + slots,
        device="cpu",
    )  # fmt: skip
    for field in FIELDS:
        one, two = getattr(mine, field), getattr(theirs, field)
        assert torch.equal(one, two), field
        assert one.stride() == two.stride(), field


class Seen(TorchDispatchMode):
    """The names of all operations that run under it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


def operations(work: Callable[[], Any]) -> Counter[str]:
    with Seen() as seen:
        work()
    return seen.names


def test_borders_cost_a_block_mask_three_kernels_and_make_nothing_wait() -> None:
    anchors, keep = torch.tensor([[2, 6, 90]]), torch.ones(1, 3, dtype=torch.bool)
    since, masks = torch.tensor([[0, 4, 77]]), BlockMasks()
    masks.of(anchors, keep, 96, 8)  # what depends on shapes alone is there from now on
    plain = operations(lambda: masks.of(anchors, keep, 96, 8))
    packed = operations(lambda: masks.of(anchors, keep, 96, 8, since))
    assert not plain - packed
    assert packed - plain == {"sub": 2, "clamp": 1, "unsqueeze": 1}  # the last is a view
    assert not any(name in WAITS for name in packed)


def test_a_row_that_is_not_packed_has_the_predicate_that_it_had() -> None:
    two = torch.zeros(1, 2).long(), torch.ones(1, 2).bool()
    plain, packed = dflash_mask_mod(*two, 8, 3), dflash_mask_mod(*two, 8, 3, two[0])
    captured = [cell.cell_contents for cell in plain.__closure__]  # type: ignore[attr-defined]
    assert sum(isinstance(held, Tensor) for held in captured) == 2
    assert plain.__code__ is dflash_mask_mod(*two, 9, 2).__code__  # type: ignore[attr-defined]
    assert plain.__code__ is not packed.__code__  # type: ignore[attr-defined]
    again = dflash_mask_mod(*two, 9, 2, two[0])
    assert packed.__code__ is again.__code__  # type: ignore[attr-defined]


@st.composite
def supervised(draw: st.DrawFn) -> tuple[list[list[int]], list[list[bool]]]:
    context, rows = draw(st.integers(2, 24)), draw(st.integers(1, 2))
    row = st.lists(st.booleans(), min_size=context, max_size=context)
    return draw(packings(context=context, rows=rows)), [draw(row) for _ in range(rows)]


@settings(max_examples=100, deadline=None)
@given(supervised(), st.integers(1, 30), st.integers(0, 2**32))
def test_anchors_lie_inside_documents_and_starve_none(
    layout: tuple[list[list[int]], list[list[bool]]], count: int, seed: int
) -> None:
    lengths, mask = layout
    anchors, keep = sample_anchors(
        torch.tensor(mask), count, torch.Generator().manual_seed(seed), starts_of(lengths)
    )
    assert anchors.shape == keep.shape == (len(mask), count)
    for row, number, places, used in zip(
        mask, numbers_of(lengths), anchors.tolist(), keep.tolist(), strict=True
    ):
        free = [p for p in range(len(row) - 1)
                if row[p] and row[p + 1] and number[p] == number[p + 1]]  # fmt: skip
        kept = [place for place, is_used in zip(places, used, strict=True) if is_used]
        assert places == sorted(places)
        assert set(kept) <= set(free)
        assert len(kept) == len(set(kept)) == min(count, len(free))
        has, could = Counter(number[p] for p in kept), Counter(number[p] for p in free)
        most = max(has.values(), default=0)
        assert all(has[n] >= min(could[n], most - 1) for n in could)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 24), st.integers(1, 30), st.integers(0, 2**32))
def test_one_document_gets_the_anchors_of_a_row(context: int, count: int, seed: int) -> None:
    mask, starts = torch.ones(2, context, dtype=torch.bool), starts_of([[context]] * 2)
    alone = sample_anchors(mask, count, torch.Generator().manual_seed(seed))
    packed = sample_anchors(mask, count, torch.Generator().manual_seed(seed), starts)
    assert torch.equal(alone[0], packed[0]) and torch.equal(alone[1], packed[1])


@settings(max_examples=60, deadline=None)
@given(supervised(), st.integers(1, 5), st.integers(1, 6), st.sampled_from([(1, 0), (0, 1)]))
def test_no_block_predicts_beyond_its_document(
    layout: tuple[list[list[int]], list[list[bool]]],
    count: int,
    block: int,
    named: tuple[int, int],
) -> None:
    lengths, mask = layout
    convention = Convention(first=named[0], offset=named[1])
    context, starts = len(mask[0]), starts_of(lengths)
    tokens = torch.arange(len(mask) * context).view(len(mask), context)
    given_mask = torch.tensor(mask)
    anchors, keep = sample_anchors(given_mask, count, torch.Generator().manual_seed(3), starts)
    labels, weights = label_slots(
        tokens, given_mask, anchors, keep, block, 3.0, convention, starts
    )  # fmt: skip
    for row, number in enumerate(numbers_of(lengths)):
        for j, anchor in enumerate(anchors[row].tolist()):
            for k in range(block):
                place = anchor + k + convention.offset
                counts = (
                    k >= convention.first and bool(keep[row, j]) and place < context
                    and mask[row][place] and number[place] == number[anchor]
                )  # fmt: skip
                assert (weights[row, j, k] > 0) == counts
                assert not counts or labels[row, j, k] == row * context + place


def test_the_check_of_labels_sees_a_border_that_is_missing() -> None:
    mask, anchors = torch.ones(1, 8, dtype=torch.bool), torch.tensor([[2]])
    row = torch.arange(8)[None], mask, anchors, torch.tensor([[True]]), 4, 3.0
    assert label_slots(*row)[1].count_nonzero() == 3
    assert label_slots(*row, starts=starts_of([[4, 4]]))[1].count_nonzero() == 1


@pytest.mark.parametrize("count", [4, 6])
def test_a_short_document_gets_as_many_anchors_as_its_long_neighbour(count: int) -> None:
    mask, starts = torch.ones(1, 203, dtype=torch.bool), starts_of([[3, 200]])
    anchors, _ = sample_anchors(mask, count, torch.Generator().manual_seed(0), starts)
    assert anchors[0, :2].tolist() == [0, 1]  # all two places that it has
    assert (anchors[0, 2:] >= 3).all()
