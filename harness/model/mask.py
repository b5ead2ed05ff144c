"""Who may see whom in DFlash training: draft slot q against key kv.

Keys 0 .. S-1 are the context, the next Q = N * B the draft slots. A slot sees its own block in
both directions, and the context *strictly* before its anchor: when decoding, the anchor is the
token the target has just emitted, which has not been through the target and has no feature yet.
Letting it see that feature improves the training loss and ruins decoding.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def dflash_mask_mod(anchors: Tensor, keep: Tensor, context: int, block: int) -> MaskMod:
    """The predicate as flex_attention's ``mask_mod(b, h, q, kv)``.

    ``anchors`` i64 and ``keep`` bool [b, N]; ``context`` = S, ``block`` = B. Every call returns
    a closure over the same code object, so compiled kernels are found again; anchors travel as
    captured tensors.
    """
    last = anchors.shape[1] - 1

    def visible(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:  # noqa: ARG001
        # Kernels may evaluate queries past Q to fill a tile; the clamp keeps the read in bounds.
        j = (q // block).clamp(max=last)
        in_context = (kv < context) & (kv < anchors[b, j])
        own = (kv >= context) & ((kv - context) // block == j)
        return keep[b, j] & (in_context | own)

    return visible


def dense_mask(
    anchors: Tensor,
    keep: Tensor,
    context: int,
    block: int,
    mask_mod: Callable[[Tensor, Tensor, int, int], MaskMod] = dflash_mask_mod,
) -> Tensor:
    """The same predicate as bool [b, Q, S + Q], evaluated for every pair."""
    rows, blocks = anchors.shape
    device = anchors.device
    b = torch.arange(rows, device=device)[:, None, None]
    q = torch.arange(blocks * block, device=device)[None, :, None]
    kv = torch.arange(context + blocks * block, device=device)[None, None, :]
    return mask_mod(anchors, keep, context, block)(b, torch.zeros_like(b), q, kv)
