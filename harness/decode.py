"""Decoding with a drafter, and the figure it is trained for: acceptance length.

Speculative decoding must give exactly the tokens that greedy decoding of the target gives (exact
in fp32; in bf16 near ties may flip). ``Speculated.acceptance`` is tau, the mean number of
tokens committed per round, between 1 and B (and B + 1 where slot 0 predicts too).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from harness.config import DrafterShape
from harness.contracts import Attention, Phase
from harness.model.anchors import GIVEN
from harness.model.cache import KeyValues
from harness.model.drafter import Drafter
from harness.model.target import Borrowed, Target
from harness.model.training import Batch, draft_hidden, draw_blocks
from harness.numerics import Convention


@dataclass(frozen=True, kw_only=True, slots=True)
class Speculated:
    """``tokens`` that follow the prompt; ``committed`` tokens of each round, 1 .. B."""

    tokens: tuple[int, ...]
    committed: tuple[int, ...]

    @property
    def acceptance(self) -> float:
        """tau = mean tokens per round."""
        return sum(self.committed) / len(self.committed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """Several prompts decoded both ways. ``lossless``: every output equals plain greedy's."""

    acceptance: float
    lossless: bool


def greedy(target: Target, prompt: Tensor, count: int) -> tuple[int, ...]:
    """The ``count`` tokens that the target finds likeliest after ``prompt`` i64 [1, P]."""
    cache, tokens, fresh = KeyValues(), [], prompt
    for _ in range(count):
        logits, _ = target.decode(fresh, cache)
        fresh = logits[:, -1:].argmax(dim=-1)
        tokens.append(int(fresh))
    return tuple(tokens)


def speculate(
    target: Target,
    drafter: Drafter,
    prompt: Tensor,
    count: int,
    convention: Convention = GIVEN,
) -> Speculated:
    """At least ``count`` tokens after ``prompt`` i64 [1, P], cut to ``count``.

    Each round the drafter fills a block that starts with the last committed token (the
    anchor), the target reads the block once and keeps the longest prefix it would have
    written itself, plus its own next token.
    """
    borrowed, cache, memory = target.borrowed, KeyValues(), KeyValues()
    logits, features = target.decode(prompt, cache)
    tokens, committed = [int(logits[0, -1].argmax())], []
    while len(tokens) < count:
        start = cache.length  # position of the anchor
        guesses = _guess(drafter, borrowed, features, tokens[-1], memory, convention.first)
        block = torch.tensor([[tokens[-1], *guesses]], device=prompt.device)
        logits, features = target.decode(block, cache)
        truth = logits[0].argmax(dim=-1).tolist()
        accepted = _agreeing(guesses, truth)
        tokens += truth[: accepted + 1]
        committed.append(accepted + 1)
        cache.crop(start + accepted + 1)
        features = features[:, : accepted + 1]
    return Speculated(tokens=tuple(tokens[:count]), committed=tuple(committed))


def decode_all(
    target: Target,
    drafter: Drafter,
    prompts: Tensor,
    count: int,
    convention: Convention = GIVEN,
) -> Decoded:
    """Decode each row of ``prompts`` i64 [n, P] both ways; tau over all rounds of all rows."""
    runs = [speculate(target, drafter, prompt[None], count, convention) for prompt in prompts]
    plain = [greedy(target, prompt[None], count) for prompt in prompts]
    committed = [tokens for run in runs for tokens in run.committed]
    return Decoded(
        acceptance=sum(committed) / len(committed),
        lossless=[run.tokens for run in runs] == plain,
    )


def teacher_forced(
    drafter: Drafter,
    borrowed: Borrowed,
    batch: Batch,
    *,
    shape: DrafterShape,
    attention: Attention,
    generator: torch.Generator,
    convention: Convention = GIVEN,
) -> float:
    """tau estimated in one forward pass: 1 + matching prefix against the text, mean over blocks.

    Cheap enough to use during training. Blocks that run past the end of the row, or of their
    document, do not count.
    """
    blocks = draw_blocks(batch, shape, borrowed.mask_token, generator, convention)
    plan = blocks.planned(attention, batch.context, shape.block)

    def attend(_phase: Phase, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention.attend(q, k, v, plan)

    with torch.no_grad():
        hidden = draft_hidden(
            drafter, borrowed, batch.features, blocks, attend=attend, run_layer=_run
        )
        guesses = F.linear(hidden, borrowed.head).argmax(dim=-1)
    right = (guesses == blocks.labels)[:, :, convention.first :]
    matching = right.long().cumprod(dim=-1).sum(dim=-1)
    ends = blocks.anchors + shape.block - 1 + convention.offset
    whole = blocks.keep & (ends < batch.context)
    if batch.starts is not None:
        whole &= batch.starts.gather(1, ends.clamp(max=batch.context - 1)) == blocks.since
    return float(1 + matching[whole].float().mean())


def _guess(
    drafter: Drafter,
    borrowed: Borrowed,
    features: Tensor,
    anchor: int,
    memory: KeyValues,
    first: int,
) -> list[int]:
    """Add what the target has newly verified to the drafter's memory, then draft B - first
    tokens.
    """
    block = [anchor] + [borrowed.mask_token] * (drafter.shape.block - 1)
    with torch.no_grad():
        drafter.remember(features, memory)
        noise = borrowed.embed(torch.tensor([block], device=features.device))
        hidden = drafter.propose(noise, memory, _attend_all)
        guesses: list[int] = F.linear(hidden[0, first:], borrowed.head).argmax(dim=-1).tolist()
    return guesses


def _agreeing(guesses: list[int], truth: list[int]) -> int:
    """Length of the prefix on which the draft says what the target says."""
    for n, (guess, true) in enumerate(zip(guesses, truth, strict=False)):
        if guess != true:
            return n
    return len(guesses)


def _attend_all(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    group = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(
        q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    )


def _run(fn: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    return fn(Phase.FORWARD, *tensors)
