from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from harness.checkpoint.off import Off
from harness.chunks import logits_of
from harness.loss.chunked import Chunked
from harness.recipes.tiny import preset as tiny


def case() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(2, 5, 3, 8, generator=generator)
    labels = torch.randint(0, 11, (2, 5, 3), generator=generator)
    weights = torch.rand(2, 5, 3, generator=generator)
    weights[0, 1] = 0.0
    return hidden.requires_grad_(), labels, weights, torch.randn(11, 8, generator=generator)


def densely(hidden: Tensor, labels: Tensor, weights: Tensor, head: Tensor) -> tuple[Tensor, ...]:
    """The definition, from log-probabilities over all slots at once."""
    surprise = -(hidden @ head.T).log_softmax(-1).gather(-1, labels[..., None])[..., 0]
    right = ((hidden @ head.T).argmax(-1) == labels) & (weights > 0)
    return (surprise * weights).sum(), weights.sum(), right.sum(), (weights > 0).sum()


@pytest.mark.parametrize("blocks", [1, 2, 5, 9])
def test_chunks_add_up_to_the_dense_loss(blocks: int) -> None:
    hidden, labels, weights, head = case()
    loss = Chunked(replace(tiny, chunk_blocks=blocks))
    terms = loss.terms(hidden, labels, weights, head, Off())
    expected = densely(hidden, labels, weights, head)
    got = (terms.numerator, terms.denominator, terms.correct, terms.count)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, theirs.float())
    (gradient,) = torch.autograd.grad(terms.numerator, hidden)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected[0], hidden)[0])
    assert not gradient[0, 1].any()  # weight 0: this block teaches nothing


def test_logits_exist_one_chunk_at_a_time() -> None:
    seen = []

    class Watching(Off):
        def chunk(self, fn, *tensors):  # type: ignore[no-untyped-def]
            seen.append(tensors[0].shape[1])
            return super().chunk(fn, *tensors)

    Chunked(replace(tiny, chunk_blocks=2)).terms(*case(), Watching())
    assert seen == [2, 2, 1]


def test_logits_are_one_product_of_matrices() -> None:
    """Of a strided chunk ``linear`` makes a batch of small ones: right, and much slower."""

    class Products(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.names += [func.name()] if "mm" in func.name() else []
            return func(*args, **(kwargs or {}))

    hidden, _, _, head = case()
    strided = torch.cat((hidden, hidden), dim=2)[:, :, 1:4]
    with Products() as seen:
        mine = logits_of(strided, head)
    assert seen.names == ["aten::mm"]
    torch.testing.assert_close(mine, strided @ head.T)
    with Products() as seen:
        torch.nn.functional.linear(strided, head)
    assert seen.names == ["aten::bmm"]
