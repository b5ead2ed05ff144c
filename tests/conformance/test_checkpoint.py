"""axis ``checkpoint``: the gradient is the one without any, and phases are told truly."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from harness.chunks import chunk_terms
from harness.contracts import Checkpoint, Phase
from harness.parts import make
from tests.conformance.folder import names, usable

EXACT = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(params=names("checkpoint"))
def checkpoint(request: pytest.FixtureRequest) -> Checkpoint:
    live: Checkpoint = make("checkpoint", request.param, usable("checkpoint", request.param))
    return live


class Layer:
    """A layer with a weight of its own and one input that needs no gradient."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.weight = torch.randn(6, 6, generator=generator, requires_grad=True)
        self.context = torch.randn(2, 5, 6, generator=generator, requires_grad=True)
        self.noise = torch.randn(2, 5, 6, generator=generator)
        self.phases: list[Phase] = []

    def run(self, phase: Phase, noise: Tensor, context: Tensor) -> Tensor:
        self.phases.append(phase)
        return torch.tanh((noise + context) @ self.weight).square()

    def gradients(self, through: Callable[..., Tensor]) -> tuple[Tensor, ...]:
        """Output and gradients when ``run`` is called through this function."""
        out = through(self.run, self.noise, self.context * 1.0)
        grads = torch.autograd.grad(out.sum(), (self.weight, self.context))
        return out, *grads


def test_a_layers_gradients_are_the_plain_ones(checkpoint: Checkpoint) -> None:
    layer = Layer()
    plain = layer.gradients(lambda fn, *tensors: fn(Phase.FORWARD, *tensors))
    out = checkpoint.layer(layer.run, layer.noise, layer.context * 1.0)
    out.sum().backward()  # not autograd.grad: reentrant checkpoint refuses that
    for got, wanted in zip((out, layer.weight.grad, layer.context.grad), plain, strict=True):
        torch.testing.assert_close(got, wanted, **EXACT)


def test_forward_comes_first_and_everything_later_is_recompute(checkpoint: Checkpoint) -> None:
    layer = Layer()
    checkpoint.layer(layer.run, layer.noise, layer.context * 1.0).sum().backward()
    first, *later = layer.phases
    assert first is Phase.FORWARD
    assert set(later) <= {Phase.RECOMPUTE}
    layer.phases.clear()
    checkpoint.layer(layer.run, layer.noise, layer.context * 1.0)
    assert layer.phases == [Phase.FORWARD]  # nothing carries over to the next call


def chunk_inputs() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(2, 3, 7, 6, generator=generator, requires_grad=True)
    labels = torch.randint(0, 11, (2, 3, 7), generator=generator)
    weights = torch.rand(2, 3, 7, generator=generator).round(decimals=1)
    return hidden, labels, weights, torch.randn(11, 6, generator=generator)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_a_chunks_terms_and_gradient_are_the_plain_ones(
    checkpoint: Checkpoint, scale: float
) -> None:
    results = []
    for through in (lambda fn, *t: fn(Phase.FORWARD, *t), checkpoint.chunk):
        hidden, labels, weights, head = chunk_inputs()
        terms = through(chunk_terms, hidden * 1.0, labels, weights, head)
        (terms[0] * scale / terms[1]).backward()
        assert hidden.grad is not None and hidden.grad.abs().sum() > 0
        results.append((*terms, hidden.grad))
    for got, wanted in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(got, wanted, **EXACT)


def test_two_chunks_add_up(checkpoint: Checkpoint) -> None:
    gradients = []
    for through in (lambda fn, *t: fn(Phase.FORWARD, *t), checkpoint.chunk):
        hidden, labels, weights, head = chunk_inputs()
        parts = zip(
            (hidden * 1.0).split(2, 1), labels.split(2, 1), weights.split(2, 1), strict=True
        )
        sums = [through(chunk_terms, *part, head) for part in parts]
        (sum(s[0] for s in sums) / sum(s[1] for s in sums)).backward()
        gradients.append(hidden.grad)
    torch.testing.assert_close(gradients[1], gradients[0], **EXACT)
