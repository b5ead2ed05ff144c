"""What the parts that decide numbers compute, against their definitions written out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from harness.meeting import add_up
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import Batch, draft_terms, draw_blocks
from harness.objective.d_pace import ALPHA, DPace
from harness.precision.bf16_masters import build as masters
from harness.precision.bf16_pure import build as pure
from harness.schedule.constant import Constant
from harness.schedule.cosine import Cosine
from harness.schedule.wsd import WarmupStableDecay
from harness.sharing import MeanOfGradients, Nothing, RatioOfSums
from tests.unit.harness_model.rig import batch_of, plain_gear, raw


def test_d_pace_is_its_formula() -> None:
    generator = torch.Generator().manual_seed(0)
    entropy = torch.rand(2, 3, 5, generator=generator) * 3
    weights = torch.ones(2, 3, 5)
    weights[0, 1, 3:] = 0.0  # the row ends there
    weights[1, 2] = 0.0  # an unused block
    got = DPace().weigh(entropy, weights)
    for row in range(2):
        for block in range(3):
            used = int((weights[row, block] > 0).sum())
            q = [ALPHA + (1 - ALPHA) * math.exp(-entropy[row, block, i]) for i in range(used)]
            wanted = [sum(math.prod(q[: m + 1]) for m in range(j, used)) for j in range(used)]
            assert got[row, block, :used].tolist() == pytest.approx(wanted, rel=1e-5)
            assert not got[row, block, used:].any()


def test_d_pace_passes_no_gradient() -> None:
    entropy = torch.rand(1, 2, 4, requires_grad=True)
    assert not DPace().weigh(entropy, torch.ones(1, 2, 4)).requires_grad


def test_schedules() -> None:
    steps = 100
    cosine = [Cosine().factor(step, steps) for step in range(steps)]
    assert cosine[:4] == [0.25, 0.5, 0.75, 1.0]
    assert cosine[4:] == sorted(cosine[4:], reverse=True)
    assert cosine[52] == pytest.approx(0.5)
    assert 0 < cosine[-1] < 0.01
    wsd = [WarmupStableDecay().factor(step, steps) for step in range(steps)]
    assert wsd[:4] == cosine[:4]
    assert set(wsd[3:80]) == {1.0}
    assert wsd[80:] == sorted(wsd[80:], reverse=True)
    assert 0 < wsd[-1] < 0.1
    assert Constant().factor(0, 1) == Cosine().factor(0, 1) == 1.0
    assert all(0 < WarmupStableDecay().factor(s, n) <= 1 for n in range(1, 9) for s in range(n))


def shares(target: Target, sync: Nothing) -> list[Tensor]:
    """The gradients that two drafters on different rows agree on under this sync part."""
    works, all_gradients = [], []
    for index in range(2):
        drafter = build_drafter(raw, seed=1, device="cpu")
        terms = terms_of(target, drafter, rows_of(target, index), index)
        weight = terms.denominator.detach()
        (terms.numerator / sync.divisor(weight)).backward()
        gradients = [parameter.grad for parameter in drafter.parameters()]
        all_gradients.append(gradients)
        works.append(sync.gradients(0, gradients, weight, 2))
    add_up([next(work) for work in works])
    for work in works:
        assert next(work, None) is None
    assert all(map(torch.equal, *all_gradients))
    return all_gradients[0]


def rows_of(target: Target, index: int) -> Batch:
    """Rows with few supervised slots for drafter 1, so that the two normalisers differ."""
    batch = batch_of(target, raw, seed=9, index=0)
    mask = batch.loss_mask.clone()
    if index:
        mask[:, : batch.context * 3 // 4] = False
    return Batch(input_ids=batch.input_ids, loss_mask=mask, features=batch.features)


def terms_of(target: Target, drafter: object, batch: Batch, index: int):  # type: ignore[no-untyped-def]
    generator = torch.Generator().manual_seed(index)
    blocks = draw_blocks(batch, raw.drafter, 63, generator)
    return draft_terms(
        drafter, target.borrowed, batch.features, blocks, gear=plain_gear(raw), index=index
    )  # fmt: skip


def one_big_batch(target: Target) -> list[Tensor]:
    drafter = build_drafter(raw, seed=1, device="cpu")
    terms = [terms_of(target, drafter, rows_of(target, index), index) for index in range(2)]
    loss = sum(t.numerator for t in terms) / sum(t.denominator for t in terms)
    loss.backward()
    return [parameter.grad for parameter in drafter.parameters()]


def test_ratio_of_sums_is_one_big_batch_and_the_mean_of_ratios_is_not(raw_target: Target) -> None:
    wanted = one_big_batch(raw_target)
    for one, two in zip(shares(raw_target, RatioOfSums()), wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-7)
    mean = shares(raw_target, MeanOfGradients())
    apart = max(float((a - b).norm() / b.norm()) for a, b in zip(mean, wanted, strict=True))
    assert apart > 0.05


def test_small_updates_survive_in_masters_only() -> None:
    moved = {}
    for name, build in (("masters", masters), ("pure", pure)):
        module = torch.nn.Linear(4, 4, bias=False).bfloat16()
        with torch.no_grad():
            module.weight.fill_(1.0)
        updates = build().updates(module, raw)
        for _ in range(40):  # 40 updates of about 1e-4, each a tenth of what bf16 can add to 1
            module.weight.grad = torch.ones_like(module.weight)
            updates.apply(1e-4 / raw.learning_rate)
        moved[name] = 1.0 - float(module.weight.detach()[0, 0])
    assert moved["pure"] == 0.0
    assert moved["masters"] == pytest.approx(4e-3, rel=0.1)
