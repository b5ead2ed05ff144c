"""What a part must not spoil: a drafter trained with it learns, decodes losslessly, and computes
in training what it computes in decoding.

Batches are made once, because the target's forward is half of a step. One step of two drafters is
taken in lockstep, as the oracle does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from harness.attention.dense import Dense
from harness.config import Plan
from harness.contracts import Attention
from harness.data.rows import language, rows
from harness.decode import decode_all
from harness.devices import place
from harness.graphs import Live
from harness.meeting import add_up
from harness.model.anchors import GIVEN
from harness.model.drafter import Drafter, build_drafter
from harness.model.target import Target
from harness.model.training import Batch, draw_blocks
from harness.numerics import Convention
from harness.precision.native import build as native
from harness.recipes.tiny import preset as tiny
from harness.schedule.wsd import WarmupStableDecay
from harness.sharing import Nothing
from harness.step import Drafting, Method, seed_of
from tests.unit.harness_model.rig import batch_of, plain_gear, views_differ, without_context

STEPS, FIRST = 250, 3
PROMPTS, _ = rows(language(64), seed=99, index=0, rows=4, context=24)
ALIKE = 1e-3
"""Largest difference of hidden states between training's view and decoding's, fp32."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """One drafter after training; ``losses`` of the drafter that is looked at."""

    drafter: Drafter
    losses: tuple[float, ...]
    others: tuple[Drafter, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The gates by name; ``acceptance`` is the decoded tau."""

    loss_falls: bool
    drafts_are_accepted: bool
    output_is_lossless: bool
    training_is_like_decoding: bool
    acceptance: float

    @property
    def passed(self) -> bool:
        """All of them."""
        return (
            self.loss_falls
            and self.drafts_are_accepted
            and self.output_is_lossless
            and self.training_is_like_decoding
        )


class Batches:
    """The batches of all runs here, each made when it is first asked for."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._made: dict[int, Batch] = {}

    def __getitem__(self, number: int) -> Batch:
        if number not in self._made:
            self._made[number] = batch_of(self.target, tiny, seed=1, index=number)
        return self._made[number]


def learn(
    batches: Batches,
    *,
    steps: int = STEPS,
    drafters: int = 1,
    blind: bool = False,
    gear: dict[str, Any] | None = None,
    method: dict[str, Any] | None = None,
) -> Learned:
    """Train with these parts in place of the plain ones. ``blind`` zeroes the features."""
    plan = place(tiny, ("cpu",), targets=1, drafters=drafters, seed=0, steps=steps, freeze=False)
    team = [_drafting(plan, index, batches.target, gear or {}, method or {})
            for index in range(drafters)]  # fmt: skip
    losses = []
    for step in range(steps):
        mine = [batches[step * drafters + index] for index in range(drafters)]
        shown = [without_context(batch) for batch in mine] if blind else mine
        results = _lockstep([d.steps(b, step) for d, b in zip(team, shown, strict=True)])
        losses.append(results[0].loss)
    first, *others = (one.module for one in team)
    return Learned(drafter=first, losses=tuple(losses), others=tuple(others))


def judge(
    learned: Learned,
    target: Target,
    *,
    attention: Attention | None = None,
    convention: Convention = GIVEN,
) -> Verdict:
    """Whether it passes the gates when decoded under this convention."""
    decoded = decode_all(target, learned.drafter, PROMPTS, 32, convention)
    batch = batch_of(target, tiny, seed=77, index=0)
    blocks = draw_blocks(batch, tiny.drafter, 63, torch.Generator().manual_seed(7))
    gap = views_differ(learned.drafter, target.borrowed, batch, blocks, attention or Dense())
    last = sum(learned.losses[-10:]) / 10
    entropy = language(tiny.target.vocab).unigram_entropy
    return Verdict(
        loss_falls=last < min(0.6 * learned.losses[0], entropy),
        drafts_are_accepted=decoded.acceptance >= max(2.5, 2 * untrained(target)),
        output_is_lossless=decoded.lossless,
        training_is_like_decoding=gap < ALIKE,
        acceptance=decoded.acceptance,
    )


@cache
def untrained(target: Target) -> float:
    """tau of a drafter that has learned nothing, whose output must be lossless too."""
    drafter = build_drafter(tiny, seed=seed_of(0, 0), device="cpu")
    decoded = decode_all(target, drafter, PROMPTS[:2], 24)
    assert decoded.lossless
    return decoded.acceptance


def _drafting(
    plan: Plan, index: int, target: Target, gear: dict[str, Any], method: dict[str, Any]
) -> Drafting:
    usual = {"precision": native(), "schedule": WarmupStableDecay(), "sync": Nothing(),
             "graphs": Live(mode=None)}  # fmt: skip
    return Drafting(
        index=index,
        plan=plan,
        gear=plain_gear(tiny, **gear),
        method=Method(**{**usual, **method}),
        borrowed=target.borrowed,
    )


def _lockstep(works: Sequence[Iterator[list[Tensor]]]) -> list[Any]:
    results: dict[int, Any] = {}
    while len(results) < len(works):
        brought = []
        for index, work in enumerate(works):
            try:
                brought.append(next(work))
            except StopIteration as done:
                results[index] = done.value
        if brought:
            assert len(brought) == len(works), "drafters must meet the same number of times"
            add_up(brought)
    return [results[index] for index in range(len(works))]
