"""Compiled layers compute what plain ones do, in values and in every weight's gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from harness.checkpoint import nonreentrant, off
from harness.contracts import Layers
from harness.layers.compiled import Compiled
from harness.layers.plain import Plain
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import draft_terms, draw_blocks
from tests.unit.harness_model.rig import batch_of, plain_gear, raw

pytestmark = pytest.mark.slow
TOLERANCE = {"rtol": 1e-4, "atol": 1e-6}
"""fp32; only the order of some sums differs."""


def gradients(target: Target, layers: Layers, checkpoint: object) -> list[Tensor]:
    """The loss and every weight's gradient."""
    drafter = build_drafter(raw, seed=3, device="cpu")
    with torch.no_grad():  # norms of one would hide where they stand
        for weight in drafter.parameters():
            if weight.ndim == 1:
                weight.uniform_(0.5, 2.0, generator=torch.Generator().manual_seed(4))
    batch = batch_of(target, raw, seed=2, index=0)
    blocks = draw_blocks(batch, raw.drafter, 63, torch.Generator().manual_seed(5))
    gear = plain_gear(raw, layers=layers, checkpoint=checkpoint)
    terms = draft_terms(drafter, target.borrowed, batch.features, blocks, gear=gear, index=0)
    loss = terms.numerator / terms.denominator
    loss.backward()
    return [loss.detach(), *(weight.grad for weight in drafter.parameters())]


@pytest.mark.parametrize("checkpoint", [off, nonreentrant], ids=["off", "nonreentrant"])
def test_compiled_equals_plain(raw_target: Target, checkpoint: object) -> None:
    torch._dynamo.reset()
    part = checkpoint.part.build()  # type: ignore[attr-defined]
    mine = gradients(raw_target, Compiled(raw), part)
    theirs = gradients(raw_target, Plain(), part)
    assert len(mine) == len(theirs)
    for one, two in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, two, **TOLERANCE)


def test_all_layers_share_what_was_compiled(raw_target: Target) -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    assert raw.drafter.layers == 2
    gradients(raw_target, Compiled(raw), off.part.build())
    stats = torch._dynamo.utils.counters["stats"]
    # The context's keys once; each half of a layer twice: only the first layer's input is frozen.
    assert stats["unique_graphs"] == 1 + 2 + 2
