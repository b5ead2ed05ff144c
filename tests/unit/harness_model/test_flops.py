from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from harness.config import DrafterShape, TargetShape
from harness.figures.flops import Recomputed, draft_flops, feature_flops, hardware_flops, step_flops
from harness.model.drafter import build_drafter
from harness.model.mask import dense_mask
from harness.model.target import Target
from harness.model.training import Batch, draw_blocks
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_model.packing import starts_of
from tests.unit.harness_model.rig import batch_of, terms_loss

TOLERANCE = 0.001
"""Relative. Both sides count matrix products only, so they should agree to the last one."""


def qwen(hidden: int, intermediate: int) -> TargetShape:
    return TargetShape(
        layers=36, hidden=hidden, intermediate=intermediate, heads=32, kv_heads=8,
        head_dim=128, vocab=151936,
    )  # fmt: skip


def test_the_formula_is_what_torch_counts(target: Target) -> None:
    batch = batch_of(target, tiny, seed=0, index=0)
    drafter = build_drafter(tiny, seed=0, device="cpu")
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        loss = terms_loss(drafter, target.borrowed, batch, tiny, torch.Generator().manual_seed(0))
        forward = counter.get_total_flops()
        loss.backward()
    # The dense part computes every pair, and its backward keeps the scores: 2, not 2.5.
    every = batch.context + tiny.slots_per_row
    row = draft_flops(tiny.target, tiny.drafter, context=batch.context, visible=every)
    assert forward == pytest.approx(tiny.rows * row.forward, rel=TOLERANCE)
    backward = tiny.rows * (row.backward - 0.5 * row.attention)
    assert counter.get_total_flops() - forward == pytest.approx(backward, rel=TOLERANCE)


def test_the_targets_formula_is_what_torch_counts(target: Target) -> None:
    tokens = torch.zeros(2, 64, dtype=torch.int64)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        target.features(tokens)
    expected = 2 * feature_flops(tiny.target, tiny.drafter.captures, context=64)
    # Causal attention is counted as half the square; the math kernel does all of it.
    square = 2 * 3 * 4 * 64 * 64 * tiny.target.heads * tiny.target.head_dim
    assert counter.get_total_flops() == pytest.approx(expected + square / 2, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("hidden", "intermediate", "context", "anchors", "tera"),
    [
        (4096, 12288, 3072, 512, 73.3),
        (4096, 12288, 4096, 512, 75.1),
        (4096, 12288, 550, 256, 34.6),
        (2560, 9728, 3072, 512, 42.1),
    ],
)
def test_paper_shapes(
    hidden: int, intermediate: int, context: int, anchors: int, tera: float
) -> None:
    """Figures worked out by hand for both Qwen3 sizes, there with slot 0's logits as well."""
    shape = DrafterShape(layers=5, captures=5, block=16, anchors=anchors, gamma=7.0)
    row = draft_flops(qwen(hidden, intermediate), shape, context=context)
    slot_zero = 2 * row.head / 15
    assert (row.forward + row.backward + slot_zero) / 1e12 == pytest.approx(tera, abs=0.06)


def test_packed_rows_count_the_pairs_between_borders() -> None:
    generator, context = torch.Generator().manual_seed(0), 96
    starts = starts_of([[96], [50, 46], [7] * 13 + [5]])
    ids = torch.randint(0, 60, starts.shape, generator=generator)
    rows = (ids, torch.ones_like(ids, dtype=torch.bool), starts)
    features = torch.zeros(3, context, 2 * tiny.target.hidden)
    batch = Batch.of(rows, features)
    blocks = draw_blocks(batch, replace(tiny.drafter, anchors=90), 63, generator)
    assert blocks.since is not None and blocks.reach is not None
    assert blocks.keep[0].all() and not blocks.keep[2].all(), "some are not used"
    mask = dense_mask(blocks.anchors, blocks.keep, context, 8, blocks.since)[:, :, :context]
    assert float(blocks.reach) == pytest.approx(mask.float().sum(-1).mean().item())
    assert batch.documents == 1 + 2 + 14

    plain, packed = step_flops(tiny, context), step_flops(tiny, context, float(blocks.reach))
    hidden = 48 - float(blocks.reach)  # per draft slot, of the mean of one document
    per_key = 4 * tiny.target.heads * tiny.target.head_dim * tiny.slots_per_row
    assert plain - packed == pytest.approx(tiny.rows * 3.5 * per_key * hidden)
    again = Recomputed(layers=True)
    extra = hardware_flops(tiny, context, again) - hardware_flops(tiny, context, again, 0.0)
    assert extra == pytest.approx(tiny.rows * 4.5 * per_key * 48)


def test_a_step_is_all_rows_forward_and_backward() -> None:
    row = draft_flops(tiny.target, tiny.drafter, context=96)
    assert step_flops(tiny, 96) == tiny.rows * (row.forward + row.backward)
    assert step_flops(tiny, 96) > step_flops(tiny, 64)
