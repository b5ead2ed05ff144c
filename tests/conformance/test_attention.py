"""axis ``attention``: values and gradients are those of the mask, written out in fp64."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fxrace.probe.recorder import Recorder
from harness.contracts import Attention
from harness.figures.counters import Counters
from harness.model.mask import dense_mask
from harness.parts import make
from tests.conformance.folder import names, usable

ROWS, QUERIES, KEYS, WIDTH, BLOCK = 2, 4, 2, 16, 4
# fp32 against fp64: dense and flex showed 1e-6 at most.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}


@pytest.fixture(params=names("attention"))
def attention(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attention]:
    torch._dynamo.reset()
    recorder = Recorder(tmp_path / "events.jsonl")
    counters = Counters(recorder)
    part = usable("attention", request.param)
    live = make("attention", request.param, part, torch.device("cpu"), 0, counters)
    yield live
    counters.finish(fused=live.fused)
    recorder.close()


def anchors_of(context: int, seed: int) -> tuple[Tensor, Tensor]:
    """Ascending anchors; the last block of the first row is unused."""
    generator = torch.Generator().manual_seed(seed)
    anchors = torch.randperm(context - 2, generator=generator)[: 3 * ROWS].view(ROWS, 3) + 1
    anchors = anchors.sort(dim=1).values
    keep = torch.ones(ROWS, 3, dtype=torch.bool)
    anchors[0, -1], keep[0, -1] = context - 1, False
    return anchors, keep


def tensors(context: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed + 100)
    slots = 3 * BLOCK
    shapes = [(QUERIES, slots), (KEYS, context + slots), (KEYS, context + slots)]
    return [
        torch.randn(ROWS, heads, length, WIDTH, generator=generator, requires_grad=True)
        for heads, length in shapes
    ]


def written_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """softmax(q k / sqrt(d)) v under the mask [b, Q, S+Q]; rows that see nothing are zero."""
    q, k, v = q.double(), k.double(), v.double()
    k, v = (t.repeat_interleave(QUERIES // KEYS, dim=1) for t in (k, v))
    scores = (q @ k.transpose(-1, -2)) / WIDTH**0.5
    weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask[:, None]
    total = weights.sum(dim=-1, keepdim=True)
    return (weights / total.clamp_min(1e-300)) @ v


def results(out: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    pull = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return [out, *torch.autograd.grad((out * pull).sum(), inputs)]


@pytest.mark.parametrize("context", [24, 40])
def test_values_and_gradients(attention: Attention, context: int) -> None:
    for seed in range(2):  # a second batch of the same shape must not see the first one's mask
        anchors, keep = anchors_of(context, seed)
        inputs = tensors(context, seed)
        plan = attention.plan(anchors, keep, context, BLOCK)
        got = results(attention.attend(*inputs, plan), inputs)
        mask = dense_mask(anchors, keep, context, BLOCK)
        wanted = results(written_out(*inputs, mask), inputs)
        for mine, reference in zip(got, wanted, strict=True):
            torch.testing.assert_close(mine.double(), reference.double(), **TOLERANCE)
        assert not got[0][0, :, 2 * BLOCK :].any(), "an unused block must come out as zeros"


def test_without_gradients(attention: Attention) -> None:
    anchors, keep = anchors_of(24, 0)
    inputs = [tensor.detach() for tensor in tensors(24, 0)]
    plan = attention.plan(anchors, keep, 24, BLOCK)
    with torch.no_grad():
        out = attention.attend(*inputs, plan)
    wanted = written_out(*inputs, dense_mask(anchors, keep, 24, BLOCK))
    torch.testing.assert_close(out.double(), wanted, **TOLERANCE)


def test_it_says_whether_it_promises_to_be_fused(attention: Attention) -> None:
    assert attention.fused in (True, False)
