"""The one-kernel AdamW computes what the plain one does; only a GPU can run it."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from harness.parts import load_preset
from harness.updates import Direct, Fused, Mastered

pytestmark = pytest.mark.gpu
PRESET = replace(load_preset("tiny"), weight_decay=0.1, clip_norm=0.5)


def pair() -> tuple[nn.Module, Mastered, nn.Module, Fused]:
    torch.manual_seed(0)
    one = nn.Sequential(nn.Linear(40, 50), nn.Linear(50, 333)).to("cuda", torch.bfloat16)
    two = copy.deepcopy(one)
    return one, Mastered(one, PRESET), two, Fused(two, PRESET)


@pytest.mark.parametrize("synced", [False, True], ids=["narrow", "wide_after_a_sync"])
def test_it_equals_mastered(synced: bool) -> None:
    one, plain, two, fused = pair()
    for step in range(6):
        for a, b in zip(one.parameters(), two.parameters(), strict=True):
            a.grad = torch.randn_like(a) / (1 + 40 * (step % 2))  # clipped, and not clipped
            b.grad = a.grad.clone()
        if synced:
            for updates in (plain, fused):
                for gradient in updates.gradients():
                    gradient.mul_(0.75)
        norms = [updates.apply(1.0 / (step + 1)) for updates in (plain, fused)]
        torch.testing.assert_close(norms[1], norms[0])
        for a, b in zip(plain.parameters, fused.parameters, strict=True):
            torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-7)
        for a, b in zip(fused.parameters, two.parameters(), strict=True):
            assert torch.equal(a.bfloat16(), b)
        assert all(weight.grad is None for weight in two.parameters())


def test_other_constants_give_other_weights() -> None:
    """The red twin: a run without decay is told apart."""
    _, plain, two, _ = pair()
    fused = Fused(two, replace(PRESET, weight_decay=0.0))
    for module, updates in ((plain._module, plain), (fused._module, fused)):
        for weight in module:
            weight.grad = torch.ones_like(weight)
        updates.apply(1.0)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(fused.parameters[0], plain.parameters[0], rtol=1e-5, atol=1e-7)


def test_a_missing_gradient_is_said() -> None:
    _, _, two, fused = pair()
    assert isinstance(fused, Direct)
    next(two.parameters()).grad = torch.ones_like(next(two.parameters()))
    with pytest.raises(RuntimeError, match="without gradient"):
        fused.apply(1.0)
