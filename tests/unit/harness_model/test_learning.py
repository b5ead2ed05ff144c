"""That it learns, and that the proof is not blind.

The gates judge a trained drafter. Two well-known mistakes must fail them although their training
loss is as good as the right one's: a mask that shows the anchor's own feature, and labels shifted
by one. Measured on three seeds (last loss / decoded tau): right 0.96-1.22 / 3.7-4.9, leaky mask
0.72-1.15 / 3.6-5.0, shifted labels 1.19-1.36 / 1.1, no features 2.2 / 1.1-1.2. So neither the loss
nor tau tells a leaky mask from the right one; that training computes what decoding computes does.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from harness.attention.dense import Dense
from harness.contracts import Attention
from harness.data import language, rows
from harness.decode import decode_all, teacher_forced
from harness.model import training
from harness.model.anchors import label_slots
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import draw_blocks
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_model.rig import (
    Leaky,
    Trained,
    batch_of,
    train,
    views_differ,
    without_context,
)

STEPS, SEED = 250, 0
PROMPTS, _ = rows(language(64), seed=99, index=0, rows=6, context=24)

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The gates by name; ``acceptance`` is the decoded tau."""

    loss_falls: bool
    drafts_are_accepted: bool
    output_is_lossless: bool
    training_is_like_decoding: bool
    acceptance: float


def judge(trained: Trained, target: Target, attention: Attention) -> Verdict:
    untrained = decode_all(target, build_drafter(tiny, seed=SEED, device="cpu"), PROMPTS[:2], 32)
    decoded = decode_all(target, trained.drafter, PROMPTS, 40)
    batch = batch_of(target, tiny, seed=77, index=0)
    blocks = draw_blocks(batch, tiny.drafter, 63, torch.Generator().manual_seed(7))
    gap = views_differ(trained.drafter, target.borrowed, batch, blocks, attention)
    entropy = language(tiny.target.vocab).unigram_entropy
    return Verdict(
        loss_falls=trained.last_loss < min(0.6 * trained.first_loss, entropy),
        drafts_are_accepted=decoded.acceptance >= max(2.5, 2 * untrained.acceptance),
        output_is_lossless=decoded.lossless and untrained.lossless,
        training_is_like_decoding=gap < 1e-3,
        acceptance=decoded.acceptance,
    )


def test_the_drafter_learns_and_needs_the_features(target: Target) -> None:
    trained = train(target, tiny, steps=STEPS, seed=SEED)
    verdict = judge(trained, target, Dense())
    assert verdict.loss_falls
    assert verdict.drafts_are_accepted
    assert verdict.output_is_lossless
    assert verdict.training_is_like_decoding

    blind = train(target, tiny, steps=STEPS, seed=SEED, view=without_context)
    verdict_of_blind = judge(blind, target, Dense())
    assert verdict.acceptance >= 1.5 * verdict_of_blind.acceptance
    assert not verdict_of_blind.drafts_are_accepted

    estimate = teacher_forced(
        trained.drafter, target.borrowed, batch_of(target, tiny, seed=77, index=1),
        shape=tiny.drafter, attention=Dense(), generator=torch.Generator().manual_seed(7),
    )  # fmt: skip
    assert estimate == pytest.approx(verdict.acceptance, rel=0.4)


def test_a_mask_that_shows_the_anchors_feature_is_caught(target: Target) -> None:
    trained = train(target, tiny, steps=STEPS, seed=SEED, attention=Leaky())
    verdict = judge(trained, target, Leaky())
    assert verdict.loss_falls  # the loss alone would have praised it
    assert not verdict.training_is_like_decoding


def test_labels_shifted_by_one_are_caught(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(
        input_ids: Tensor,
        loss_mask: Tensor,
        anchors: Tensor,
        keep: Tensor,
        block: int,
        gamma: float,
    ) -> tuple[Tensor, Tensor]:
        following = torch.roll(input_ids, -1, dims=1)
        return label_slots(following, loss_mask, anchors, keep, block, gamma)

    monkeypatch.setattr(training, "label_slots", shifted)
    trained = train(target, tiny, steps=STEPS, seed=SEED)
    monkeypatch.undo()
    verdict = judge(trained, target, Dense())
    assert verdict.loss_falls  # nor does the loss see this one
    assert not verdict.drafts_are_accepted
