from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from harness import parts
from harness.attention.dense import Dense
from harness.checkpoint.off import Off
from harness.contracts import Attention, Phase
from harness.model.drafter import Drafter, build_drafter
from harness.model.rope import rotate, rotation
from harness.model.target import Target
from harness.model.training import Batch, Blocks, draw_blocks
from tests.unit.harness_model.rig import Leaky, batch_of, hidden_of, raw, views_differ


@pytest.fixture(scope="module")
def drafter() -> Drafter:
    """Norm weights are not one, so that where a norm stands makes a difference."""
    drafter = build_drafter(raw, seed=1, device="cpu")
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in drafter.parameters():
            if parameter.ndim == 1:
                parameter.uniform_(0.5, 2.0, generator=generator)
    return drafter


@pytest.fixture(scope="module")
def batch(raw_target: Target) -> Batch:
    return batch_of(raw_target, raw, seed=1, index=0)


@pytest.fixture(scope="module")
def blocks(batch: Batch) -> Blocks:
    return draw_blocks(batch, raw.drafter, 63, torch.Generator().manual_seed(1))


def reach(drafter: Drafter, target: Target, batch: Batch, blocks: Blocks, at: Attention) -> Tensor:
    """bool [N, S]: which positions' features block j of row 0 depends on, by gradient."""
    features = batch.features.clone().requires_grad_()
    seen = replace(batch, features=features)
    hidden = hidden_of(drafter, target.borrowed, seen, blocks, at)
    gradients = [
        torch.autograd.grad(hidden[0, j].square().sum(), features, retain_graph=True)[0][0]
        for j in range(raw.drafter.anchors)
    ]
    return torch.stack(gradients).abs().amax(-1) > 0


def test_a_block_depends_on_the_features_before_its_anchor_and_no_others(
    drafter: Drafter, raw_target: Target, batch: Batch, blocks: Blocks
) -> None:
    before = torch.arange(batch.context) < blocks.anchors[0, :, None]
    assert torch.equal(reach(drafter, raw_target, batch, blocks, Dense()), before)
    upto = torch.arange(batch.context) <= blocks.anchors[0, :, None]
    assert torch.equal(reach(drafter, raw_target, batch, blocks, Leaky()), upto)


def test_blocks_do_not_see_each_other(
    drafter: Drafter, raw_target: Target, batch: Batch, blocks: Blocks
) -> None:
    base = hidden_of(drafter, raw_target.borrowed, batch, blocks, Dense())
    tokens = blocks.tokens.clone()
    tokens[:, 2 * 4 + 3] = 5  # last slot of block 2
    hidden = hidden_of(drafter, raw_target.borrowed, batch, replace(blocks, tokens=tokens), Dense())
    changed = (hidden - base).abs().amax(-1)[0] > 1e-6
    expected = torch.zeros_like(changed)
    expected[2] = True  # and all of it: bidirectional
    assert torch.equal(changed, expected)


def test_training_and_decoding_compute_the_same_block(
    drafter: Drafter, raw_target: Target, batch: Batch, blocks: Blocks
) -> None:
    borrowed = raw_target.borrowed
    assert views_differ(drafter, borrowed, batch, blocks, Dense()) < 1e-4
    assert views_differ(drafter, borrowed, batch, blocks, Leaky()) > 1e-2


def test_keys_and_values_are_context_then_draft_at_the_specified_positions(
    drafter: Drafter, raw_target: Target, batch: Batch, blocks: Blocks
) -> None:
    calls: list[tuple[Tensor, Tensor, Tensor]] = []

    class Spy(Dense):
        def attend(self, q, k, v, plan):  # type: ignore[no-untyped-def]
            calls.append((q, k, v))
            return super().attend(q, k, v, plan)

    hidden_of(drafter, raw_target.borrowed, batch, blocks, Spy())
    heads, layer = drafter.layers[0].heads, drafter.layers[0]
    context = drafter.fuse_norm(drafter.fuse(batch.features))
    stream = layer.heads_norm(raw_target.borrowed.embed(blocks.tokens))
    past = torch.arange(batch.context).expand(raw.rows, -1)
    ahead = (blocks.anchors[:, :, None] + torch.arange(4)).flatten(1)

    both = torch.cat((context, stream), dim=1)  # the context has not passed the input norm
    projected = (both @ heads.key_value.weight.T).unflatten(-1, (2, 2, 16))
    turn = rotation(torch.cat((past, ahead), dim=1), 16, 1e6, torch.float32)
    keys = rotate(heads.key_norm(projected[:, :, 0].transpose(1, 2)), turn)
    torch.testing.assert_close(calls[0][1], keys)
    torch.testing.assert_close(calls[0][2], projected[:, :, 1].transpose(1, 2))

    queries = (stream @ heads.query.weight.T).unflatten(-1, (4, 16)).transpose(1, 2)
    turn = rotation(ahead, 16, 1e6, torch.float32)
    torch.testing.assert_close(calls[0][0], rotate(heads.query_norm(queries), turn))


@pytest.mark.parametrize("silent", [0, 1])
def test_the_context_enters_every_layer(
    raw_target: Target, batch: Batch, blocks: Blocks, silent: int
) -> None:
    drafter = build_drafter(raw, seed=1, device="cpu")
    with torch.no_grad():
        drafter.layers[silent].heads.out.weight.zero_()  # this layer's attention says nothing
    before = torch.arange(batch.context) < blocks.anchors[0, :, None]
    assert torch.equal(reach(drafter, raw_target, batch, blocks, Dense()), before)
    with torch.no_grad():
        drafter.layers[1 - silent].heads.out.weight.zero_()
    assert not reach(drafter, raw_target, batch, blocks, Dense()).any()


@pytest.mark.parametrize("kind", ["reentrant", "nonreentrant"])
def test_recomputed_layers_give_the_same_gradients(
    raw_target: Target, batch: Batch, blocks: Blocks, kind: str
) -> None:
    attention = Dense()
    plan = attention.plan(blocks.anchors, blocks.keep, batch.context, raw.drafter.block)
    phases: list[Phase] = []

    def attend(phase: Phase, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        phases.append(phase)
        return attention.attend(q, k, v, plan)

    gradients = []
    for checkpoint in (Off(), parts.load("checkpoint", kind).build()):
        drafter = build_drafter(raw, seed=1, device="cpu")
        noise = raw_target.borrowed.embed(blocks.tokens)
        hidden = drafter(
            batch.features, noise, blocks.anchors, attend=attend, run_layer=checkpoint.layer
        )
        hidden.square().sum().backward()
        gradients.append([parameter.grad for parameter in drafter.parameters()])
    assert all(g is not None and g.any() for g in gradients[0])
    torch.testing.assert_close(gradients[0], gradients[1])
    assert phases.count(Phase.RECOMPUTE) == raw.drafter.layers


def test_fp32_weights_compute_in_the_features_precision(
    drafter: Drafter, raw_target: Target, batch: Batch, blocks: Blocks
) -> None:
    borrowed = replace(
        raw_target.borrowed, embedding=raw_target.embedding.bfloat16().detach()
    )  # fmt: skip
    half = replace(batch, features=batch.features.bfloat16())
    hidden = hidden_of(drafter, borrowed, half, blocks, Dense())
    assert hidden.dtype == torch.bfloat16
    (gradient,) = torch.autograd.grad(hidden.float().sum(), drafter.fuse.weight)
    assert gradient.dtype == torch.float32
    exact = hidden_of(drafter, raw_target.borrowed, batch, blocks, Dense())
    assert (hidden - exact)[blocks.keep].abs().mean() < 0.05


def test_equal_seeds_give_equal_drafters() -> None:
    before = torch.get_rng_state()
    one, two, other = (build_drafter(raw, seed=seed, device="cpu") for seed in (1, 1, 2))
    assert torch.equal(one.fuse.weight, two.fuse.weight)
    assert not torch.equal(one.fuse.weight, other.fuse.weight)
    assert torch.equal(before, torch.get_rng_state())
