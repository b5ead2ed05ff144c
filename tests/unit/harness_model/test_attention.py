from __future__ import annotations

import torch
from torch import Tensor

from harness.attention.dense import Dense
from harness.model.mask import dense_mask

ANCHORS = torch.tensor([[2, 5, 7], [1, 3, 7]])
KEEP = torch.tensor([[True, True, False], [True, True, True]])
CONTEXT, BLOCK = 8, 4


def heads() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 12, 6, generator=generator)
    k, v = torch.randn(2, 2, 2, 20, 6, generator=generator)
    return q.requires_grad_(), k.requires_grad_(), v.requires_grad_()


def one_by_one(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention query by query over the keys it may see; query head i reads k/v head i // 2."""
    mask, out = dense_mask(ANCHORS, KEEP, CONTEXT, BLOCK), torch.zeros_like(q)
    for row in range(2):
        for head in range(4):
            for query in range(12):
                seen = mask[row, query]
                if seen.any():
                    keys, values = k[row, head // 2, seen], v[row, head // 2, seen]
                    scores = keys @ q[row, head, query] / 6**0.5
                    out[row, head, query] = scores.softmax(0) @ values
    return out


def test_dense_attention_is_attention_over_the_visible_keys() -> None:
    q, k, v = heads()
    dense = Dense()
    out = dense.attend(q, k, v, dense.plan(ANCHORS, KEEP, CONTEXT, BLOCK))
    expected = one_by_one(q, k, v)
    torch.testing.assert_close(out, expected)
    got = torch.autograd.grad(out.square().sum(), (q, k, v))
    for mine, theirs in zip(
        got, torch.autograd.grad(expected.square().sum(), (q, k, v)), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_an_unused_block_gives_zeros_and_no_gradient() -> None:
    q, k, v = heads()
    dense = Dense()
    out = dense.attend(q, k, v, dense.plan(ANCHORS, KEEP, CONTEXT, BLOCK))
    assert not out[0, :, 8:].any()
    assert out[1, :, 8:].all()
    gradients = torch.autograd.grad(out.sum(), (q, k, v))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][0, :, 8:].any()
    assert not gradients[2][0, :, 16:].any()  # keys of the unused block
