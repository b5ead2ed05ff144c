from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from harness import decode
from harness.attention.dense import Dense
from harness.data.rows import language, rows
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import draw_blocks
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_model.rig import batch_of, hidden_of

PROMPTS, _ = rows(language(64), seed=9, index=0, rows=2, context=20)
COUNT = 30


@pytest.fixture(scope="module")
def plain(target: Target) -> list[tuple[int, ...]]:
    return [decode.greedy(target, prompt[None], COUNT + 8) for prompt in PROMPTS]


def test_greedy_decoding_equals_decoding_without_a_cache(
    target: Target, plain: list[tuple[int, ...]]
) -> None:
    tokens = PROMPTS[:1]
    for _ in range(COUNT):
        with torch.no_grad():
            following = target.logits(tokens)[:, -1:].argmax(-1)
        tokens = torch.cat((tokens, following), dim=1)
    assert tuple(tokens[0, 20:].tolist()) == plain[0][:COUNT]


def test_an_untrained_drafter_changes_nothing_but_speed(
    target: Target, plain: list[tuple[int, ...]]
) -> None:
    drafter = build_drafter(tiny, seed=3, device="cpu")
    out = decode.speculate(target, drafter, PROMPTS[:1], COUNT)
    assert out.tokens == plain[0][:COUNT]
    assert 1 <= out.acceptance < 2
    assert sum(out.committed) >= COUNT - 1 > sum(out.committed[:-1])


@pytest.mark.parametrize(("right", "tau"), [(7, 8.0), (3, 4.0), (0, 1.0)])
def test_acceptance_counts_the_agreeing_prefix(
    target: Target,
    plain: list[tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
    right: int,
    tau: float,
) -> None:
    """A drafter that knows the answer for ``right`` slots and is wrong after them."""
    done = [1]

    def knowing(*_: object) -> list[int]:
        truth = list(plain[0][done[0] : done[0] + 7])
        done[0] += right + 1
        return truth[:right] + [(token + 1) % 10 for token in truth[right:]]

    monkeypatch.setattr(decode, "_guess", knowing)
    out = decode.speculate(target, build_drafter(tiny, seed=3, device="cpu"), PROMPTS[:1], COUNT)
    assert out.acceptance == tau
    assert out.tokens == plain[0][:COUNT]


@pytest.mark.parametrize("right", [0, 3, 7])
def test_the_drafter_remembers_every_token_before_the_anchor_and_no_other(
    target: Target,
    plain: list[tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
    right: int,
) -> None:
    drafter, done, held = build_drafter(tiny, seed=3, device="cpu"), [1], []

    def knowing(*given: Any) -> list[int]:
        held.append(given[2])
        before = target.features(torch.tensor([[*PROMPTS[0].tolist(), *plain[0][: done[0] - 1]]]))
        torch.testing.assert_close(torch.cat(held, dim=1), before, rtol=1e-4, atol=1e-4)
        truth = list(plain[0][done[0] : done[0] + 7])
        done[0] += right + 1
        return truth[:right] + [(token + 1) % 10 for token in truth[right:]]

    monkeypatch.setattr(decode, "_guess", knowing)
    decode.speculate(target, drafter, PROMPTS[:1], 20)
    assert len(held) >= 3


def test_lossless_is_about_every_prompt(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    drafter = build_drafter(tiny, seed=3, device="cpu")
    assert decode.decode_all(target, drafter, PROMPTS, 8).lossless
    wrong = [decode.greedy(target, PROMPTS[:1], 8), (0,) * 8]
    monkeypatch.setattr(decode, "greedy", lambda *_: wrong.pop(0))
    assert not decode.decode_all(target, drafter, PROMPTS, 8).lossless


def test_teacher_forced_acceptance_counts_matching_prefixes_of_whole_blocks(
    target: Target,
) -> None:
    batch, drafter = (
        batch_of(target, tiny, seed=4, index=0),
        build_drafter(tiny, seed=3, device="cpu"),
    )
    tau = decode.teacher_forced(
        drafter,
        target.borrowed,
        batch,
        shape=tiny.drafter,
        attention=Dense(),
        generator=torch.Generator().manual_seed(5),
    )
    blocks = draw_blocks(batch, tiny.drafter, 63, torch.Generator().manual_seed(5))
    with torch.no_grad():
        hidden = hidden_of(drafter, target.borrowed, batch, blocks, Dense())
    guesses = F.linear(hidden, target.borrowed.head).argmax(-1)
    lengths = []
    for row in range(tiny.rows):
        for j, anchor in enumerate(blocks.anchors[row].tolist()):
            if anchor + 8 <= batch.context and blocks.keep[row, j]:
                truth = batch.input_ids[row, anchor + 1 : anchor + 8].tolist()
                lengths.append(1 + decode._agreeing(guesses[row, j, 1:].tolist(), truth))
    assert tau == pytest.approx(sum(lengths) / len(lengths))
