from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch

from harness.attention.dense import Dense
from harness.contracts import Call, Phase
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import draft_terms, draw_blocks
from tests.unit.harness_model.rig import batch_of, hidden_of, plain_gear, raw

T = TypeVar("T")


class Listening:
    """A locking part that notes what passes through it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def around(self, call: Call, work: Callable[[], T]) -> T:
        self.calls.append(call)
        return work()

    def close(self) -> None: ...


def test_the_terms_are_the_specified_sums_and_attention_goes_through_locking(
    raw_target: Target,
) -> None:
    borrowed, batch = raw_target.borrowed, batch_of(raw_target, raw, seed=6, index=0)
    drafter, locking = build_drafter(raw, seed=1, device="cpu"), Listening()
    blocks = draw_blocks(batch, raw.drafter, 63, torch.Generator().manual_seed(8))
    gear = plain_gear(raw, locking=locking)
    terms = draft_terms(drafter, borrowed, batch.features, blocks, gear=gear, index=5)
    hidden = hidden_of(drafter, borrowed, batch, blocks, Dense())
    surprise = -(hidden @ borrowed.head.T).log_softmax(-1)
    numerator = denominator = count = 0.0
    for row in range(raw.rows):
        for j, anchor in enumerate(blocks.anchors[row].tolist()):
            for k in range(1, raw.drafter.block):
                place = anchor + k
                if not blocks.keep[row, j] or place >= batch.context:
                    continue
                if batch.loss_mask[row, place]:
                    weight = math.exp(-(k - 1) / raw.drafter.gamma)
                    token = batch.input_ids[row, place]
                    numerator += weight * surprise[row, j, k, token].item()
                    denominator += weight
                    count += 1
    assert terms.numerator.item() == pytest.approx(numerator, rel=1e-4)
    assert terms.denominator.item() == pytest.approx(denominator, rel=1e-5)
    assert terms.count.item() == count
    assert terms.numerator.requires_grad
    assert not terms.denominator.requires_grad

    key = ((2, 4, 20, 16), (2, 2, 84, 16), True)
    expected = Call(site="attention", drafter=5, phase=Phase.FORWARD, key=key)
    assert locking.calls == [expected] * raw.drafter.layers
