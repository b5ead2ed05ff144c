"""Is what trials are compared with right? Its kernels, beside plain PyTorch's on the same batches.

A reference computes by its trials' own kernels, or rounding alone would tell them apart; so what
such a kernel gets wrong by itself is wrong on both sides of every comparison. Here the loss and
every weight's gradient on the first batches, one per row length, are compared with what attention
under a written-out mask, layers that are not compiled and logits in one piece make of them. Of a
target it is one layer on the shortest of these batches: the next ones would multiply rounding.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from harness.assembly import Assembly
from harness.model.target import Target
from harness.model.training import Batch, Gear
from harness.step import SMALLEST, Drafting

FEATURES = "features"
UNSEEN = "whether its kernels compute what plain PyTorch does"
EXACT, COARSE = 1e-2, 0.1
"""How far, relatively, sound kernels may part in fp32, and in anything narrower. Seen: 7e-7 and
0.009 (a layer in fp8: 0.055); a block mask that misled its kernels: 0.41.
"""


def compare(assembly: Assembly, batches: list[Batch]) -> None:
    """Record how far drafter 0 and target 0 are from plain PyTorch; nothing is learned."""
    drafting = assembly.trainers[0].drafting
    plain = assembly.plain_gear()
    taking_part = [*drafting.module.parameters(), *(batch.features for batch in batches)]
    narrow = any(tensor.dtype is not torch.float32 for tensor in taking_part)
    try:
        found = [_drafter(drafting, plain, batch) for batch in batches]
        if isinstance(target := assembly.feeders[0].target, Target):
            shortest = min(batches, key=lambda batch: batch.context)
            found.append((_first_layer(target, shortest), FEATURES, shortest.context))
    except torch.OutOfMemoryError:
        assembly.counters.blind(UNSEEN, "no memory for attention and logits in one piece")
        return
    distance, where, context = max(found)
    assembly.recorder.emit(
        "plain", distance=distance, where=where, context=context,
        allowed=COARSE if narrow else EXACT,
    )  # fmt: skip


def _drafter(drafting: Drafting, plain: Gear, batch: Batch) -> tuple[float, str, int]:
    mine, theirs = drafting.by_both(plain, batch)
    found = max((_apart(mine[name], wanted), name) for name, wanted in theirs.items())
    return *found, batch.context


def _first_layer(target: Target, batch: Batch) -> float:
    tokens = batch.input_ids.to(target.embedding.device)
    with torch.no_grad():
        mine = target.state(tokens, 1, batch.starts)
    with torch.enable_grad():
        return _apart(mine, target.state(tokens, 1, batch.starts).detach())


def _apart(mine: Tensor, theirs: Tensor) -> float:
    """Norm of the difference over the norm of ``theirs``; infinite where that is no number."""
    found = float((mine - theirs).float().norm() / theirs.float().norm().clamp_min(SMALLEST))
    return math.inf if math.isnan(found) else found
