"""Is what trials are compared with right? Its kernels, beside plain PyTorch's on the same batches.

A reference computes by its trials' own kernels, or rounding alone would tell them apart; so what
such a kernel gets wrong by itself is wrong on both sides of every comparison. Here the loss and
every weight's gradient on the first batches, one per row length, are compared with what attention
under a written-out mask, layers that are not compiled and logits in one piece make of them. Of a
target it is one layer on the shortest of these batches: the next ones would multiply rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from harness.assembly import Assembly
from harness.model.target import Target
from harness.model.training import Batch, Gear
from harness.step import SMALLEST, Drafting

FEATURES = "features"
UNSEEN = "whether its kernels compute what plain PyTorch does"
EXACT, COARSE, ROUGH = 1e-2, 0.1, 0.2
"""How far, relatively, sound kernels may part in fp32, in bf16, and in a layer of a target in fp8.
Seen: 7e-7, 0.009 and 0.055; a block mask that misled its kernels in bf16: 0.41.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """How far something lies from plain PyTorch's; ``where`` as in the event ``plain``."""

    distance: float
    where: str
    context: int
    allowed: float


def compare(assembly: Assembly, batches: list[Batch]) -> None:
    """Record how far drafter 0 and target 0 are from plain PyTorch; nothing is learned."""
    drafting, plain = assembly.trainers[0].drafting, assembly.plain_gear()
    try:
        found = [_drafter(drafting, plain, batch) for batch in batches]
        if isinstance(target := assembly.feeders[0].target, Target):
            found.append(_first_layer(target, min(batches, key=lambda batch: batch.context)))
    except torch.OutOfMemoryError:
        assembly.counters.blind(UNSEEN, "no memory for attention and logits in one piece")
        return
    assembly.recorder.emit("plain", **asdict(max(found, key=lambda it: it.distance / it.allowed)))


def _drafter(drafting: Drafting, plain: Gear, batch: Batch) -> Found:
    mine, theirs = drafting.by_both(plain, batch)
    distance, where = max((_apart(mine[name], wanted), name) for name, wanted in theirs.items())
    allowed = _allowed([*drafting.module.parameters(), batch.features])
    return Found(distance=distance, where=where, context=batch.context, allowed=allowed)


def _first_layer(target: Target, batch: Batch) -> Found:
    tokens = batch.input_ids.to(target.embedding.device)
    with torch.no_grad():
        mine = target.state(tokens, 1, batch.starts)
    with torch.enable_grad():
        distance = _apart(mine, target.state(tokens, 1, batch.starts).detach())
    allowed = _allowed([*target.parameters(), *target.buffers()])
    return Found(distance=distance, where=FEATURES, context=batch.context, allowed=allowed)


def _allowed(taking_part: Iterable[Tensor]) -> float:
    narrowest = min(tensor.element_size() for tensor in taking_part)
    return {1: ROUGH, 2: COARSE}.get(narrowest, EXACT)


def _apart(mine: Tensor, theirs: Tensor) -> float:
    """Norm of the difference over the norm of ``theirs``; infinite where that is no number."""
    found = float((mine - theirs).float().norm() / theirs.float().norm().clamp_min(SMALLEST))
    return math.inf if math.isnan(found) else found
