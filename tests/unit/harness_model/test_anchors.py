from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from harness.model.anchors import draft_tokens, label_slots, sample_anchors

loss_masks = st.integers(2, 24).flatmap(
    lambda context: st.lists(
        st.lists(st.booleans(), min_size=context, max_size=context), min_size=1, max_size=3
    )
)


def eligible(row: list[bool]) -> set[int]:
    return {p for p in range(len(row) - 1) if row[p] and row[p + 1]}


def sample(mask: list[list[bool]], count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    return sample_anchors(torch.tensor(mask), count, torch.Generator().manual_seed(seed))


@settings(max_examples=100, deadline=None)
@given(loss_masks, st.integers(1, 30), st.integers(0, 2**32))
def test_anchors_are_distinct_sorted_and_eligible(
    mask: list[list[bool]], count: int, seed: int
) -> None:
    anchors, keep = sample(mask, count, seed)
    assert anchors.shape == keep.shape == (len(mask), count)
    for row, places, used in zip(mask, anchors.tolist(), keep.tolist(), strict=True):
        kept = [place for place, is_used in zip(places, used, strict=True) if is_used]
        assert len(kept) == len(set(kept)) == min(count, len(eligible(row)))
        assert set(kept) <= eligible(row)
        assert places == sorted(places)
        assert used == sorted(used, reverse=True)
        assert all(0 <= place < len(row) for place in places)


def test_every_eligible_position_is_equally_likely() -> None:
    mask, drawn = [[False, True, True, False, True, True, True, True, True]], 2000
    generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(9)
    for _ in range(drawn):
        anchors, _ = sample_anchors(torch.tensor(mask), 3, generator)
        counts[anchors[0]] += 1
    places = sorted(eligible(mask[0]))
    assert places == [1, 4, 5, 6, 7]
    expected = drawn * 3 / 5
    assert counts.sum() == drawn * 3
    assert all(abs(counts[p] - expected) < 5 * math.sqrt(expected) for p in places)


def test_sampling_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    first, second = sample([[True] * 12], 4, 1), sample([[True] * 12], 4, 1)
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[0], sample([[True] * 12], 4, 2)[0])
    assert torch.equal(before, torch.get_rng_state())


@settings(max_examples=60, deadline=None)
@given(loss_masks, st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32))
def test_slot_k_predicts_the_token_at_a_plus_k(
    mask: list[list[bool]], count: int, block: int, seed: int
) -> None:
    context = len(mask[0])
    tokens = torch.arange(len(mask) * context).view(len(mask), context)
    anchors, keep = sample(mask, count, seed)
    labels, weights = label_slots(tokens, torch.tensor(mask), anchors, keep, block, 3.0)
    for row in range(len(mask)):
        for j in range(count):
            for k in range(block):
                place = int(anchors[row, j]) + k
                used = k >= 1 and bool(keep[row, j]) and place < context and mask[row][place]
                weight = math.exp(-(k - 1) / 3.0) if used else 0.0
                assert weights[row, j, k].item() == pytest.approx(weight)
                assert not used or labels[row, j, k] == row * context + place


def test_draft_tokens_are_the_anchor_and_masks() -> None:
    tokens = draft_tokens(torch.tensor([[7, 8, 9, 6]]), torch.tensor([[1, 3]]), 63, 3)
    assert tokens.tolist() == [[8, 63, 63, 6, 63, 63]]
