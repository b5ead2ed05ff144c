from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.data.rows import language, rows
from harness.model.cache import KeyValues
from harness.model.target import Target, capture_layers

TOKENS, _ = rows(language(64), seed=1, index=0, rows=2, context=24)


@pytest.mark.parametrize(
    ("layers", "captures", "expected"),
    [
        (36, 5, (1, 9, 17, 25, 33)),
        (28, 5, (1, 7, 13, 19, 25)),
        (8, 3, (1, 3, 5)),
        (4, 2, (1, 2)),
        (36, 1, (18,)),
    ],
)
def test_captured_layers(layers: int, captures: int, expected: tuple[int, ...]) -> None:
    assert capture_layers(layers, captures) == expected


def test_captured_layers_are_distinct_or_refused() -> None:
    for layers in range(3, 50):
        for captures in range(2, layers):
            chosen = capture_layers(layers, captures)
            assert len(set(chosen)) == captures
            assert 1 <= chosen[0] <= chosen[-1] < layers
    with pytest.raises(ValueError, match="captures"):
        capture_layers(4, 4)


def test_features_are_the_captured_layers_outputs_and_no_more_is_run(target: Target) -> None:
    outputs: dict[int, torch.Tensor] = {}
    hooks = []
    for index, layer in enumerate(target.layers):

        def keep(*called: Any, index: int = index) -> None:
            outputs[index] = called[2]

        hooks.append(layer.register_forward_hook(keep))
    features = target.features(TOKENS)
    for hook in hooks:
        hook.remove()
    assert torch.equal(features, torch.cat([outputs[i] for i in target.captured], dim=-1))
    assert max(outputs) == target.captured[-1] == 2
    assert not features.requires_grad


def test_decoding_with_a_cache_equals_one_pass(target: Target) -> None:
    whole, cache = target.logits(TOKENS), KeyValues()
    parts = [target.decode(part, cache) for part in TOKENS.split([9, 1, 8, 6], dim=1)]
    torch.testing.assert_close(torch.cat([p[0] for p in parts], 1), whole, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        torch.cat([p[1] for p in parts], 1), target.features(TOKENS), rtol=1e-4, atol=1e-4
    )


def test_a_cropped_cache_forgets(target: Target) -> None:
    cache = KeyValues()
    target.decode(TOKENS[:, :10], cache)
    target.decode(TOKENS[:, 3:9], cache)  # the rejected draft
    cache.crop(10)
    assert cache.length == 10
    logits, _ = target.decode(TOKENS[:, 10:12], cache)
    torch.testing.assert_close(logits, target.logits(TOKENS[:, :12])[:, 10:], rtol=1e-4, atol=1e-4)


def test_the_target_cannot_look_ahead(target: Target) -> None:
    changed = TOKENS.clone()
    changed[:, 12] = (changed[:, 12] + 1) % 10
    before, after = target.features(TOKENS), target.features(changed)
    torch.testing.assert_close(before[:, :12], after[:, :12], rtol=0, atol=1e-6)
    assert (before[:, 12:] - after[:, 12:]).abs().amax(dim=-1).min() > 1e-4


def test_training_and_inference_attention_agree(target: Target) -> None:
    with torch.no_grad():
        fused = target.logits(TOKENS)
    torch.testing.assert_close(target.logits(TOKENS), fused, rtol=1e-4, atol=1e-4)


def test_the_trained_target_knows_the_language(target: Target) -> None:
    tokens, _ = rows(language(64), seed=2, index=0, rows=16, context=96)
    logits = target.logits(tokens)[:, 32:-1]
    right = (logits.argmax(-1) == tokens[:, 33:]).float().mean().item()
    assert right > 0.85  # one token in eight is a coin toss of 0.7
    assert not any(parameter.requires_grad for parameter in target.parameters())


def test_what_drafters_borrow_is_the_targets_own(target: Target) -> None:
    borrowed = target.borrowed
    assert borrowed.mask_token == 63
    assert borrowed.embedding.data_ptr() == target.embedding.data_ptr()
    assert borrowed.head.data_ptr() == target.head.weight.data_ptr()
    assert not borrowed.embed(TOKENS).requires_grad
    assert borrowed.on("cpu").head.data_ptr() == borrowed.head.data_ptr()
