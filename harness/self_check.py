"""Is what trials are compared with right? Its kernels, beside plain PyTorch's on the same batches.

A reference computes by its trials' own kernels, or rounding alone would tell them apart; so what
such a kernel gets wrong by itself is wrong on both sides of every comparison. Here the loss and
every weight's gradient on the first batches, one per row length, are compared with what attention
under a written-out mask, layers that are not compiled and logits in one piece make of them.
"""

from __future__ import annotations

import torch

from harness.assembly import Assembly
from harness.model.training import Batch

UNSEEN = "whether its kernels compute what plain PyTorch does"
EXACT, COARSE = 1e-2, 0.1
"""How far, relatively, sound kernels may part on a weight in fp32, and in anything narrower. Seen:
6e-7 and 0.009; a block mask that misled its kernels: 0.41.
"""


def compare(assembly: Assembly, batches: list[Batch]) -> None:
    """Record how far drafter 0 is from plain PyTorch; nothing is learned."""
    drafting = assembly.trainers[0].drafting
    plain = assembly.plain_gear()
    taking_part = [*drafting.module.parameters(), *(batch.features for batch in batches)]
    narrow = any(tensor.dtype is not torch.float32 for tensor in taking_part)
    try:
        found = [(*drafting.apart_from(plain, batch), batch.context) for batch in batches]
    except torch.OutOfMemoryError:
        assembly.counters.blind(UNSEEN, "no memory for attention and logits in one piece")
        return
    distance, where, context = max(found)
    assembly.recorder.emit(
        "plain", distance=distance, where=where, context=context,
        allowed=COARSE if narrow else EXACT,
    )  # fmt: skip
