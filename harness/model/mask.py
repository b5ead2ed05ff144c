"""Who may see whom in DFlash training: draft slot q against key kv.

Keys 0 .. S-1 are the context, the next Q = N * B the draft slots. A slot sees its own block in
both directions, and the context *strictly* before its anchor: when decoding, the anchor is the
token the target has just emitted, which has not been through the target and has no feature yet.
Letting it see that feature improves the training loss and ruins decoding.

In packed rows a slot sees nothing of the documents before its anchor's own. Since documents lie in
one piece that is a bound from below, one number per block: ``since``, where the anchor's begins.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def dflash_mask_mod(
    anchors: Tensor, keep: Tensor, context: int, block: int, since: Tensor | None = None
) -> MaskMod:
    """The predicate as flex_attention's ``mask_mod(b, h, q, kv)``.

    ``anchors`` i64, ``keep`` bool and, for packed rows, ``since`` i64 [b, N]; ``context`` = S,
    ``block`` = B. Every call returns a closure over the same code object, one for packed rows and
    one for others, so compiled kernels are found again; anchors travel as captured tensors.
    """
    last = anchors.shape[1] - 1

    def visible(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:  # noqa: ARG001
        # Kernels may evaluate queries past Q to fill a tile; the clamp keeps the read in bounds.
        j = (q // block).clamp(max=last)
        in_context = (kv < context) & (kv < anchors[b, j])
        own = (kv >= context) & ((kv - context) // block == j)
        return keep[b, j] & (in_context | own)

    if since is None:
        return visible

    # Written out again: a predicate that calls another holds a new function at every step, and
    # would be compiled anew for it.
    def visible_in_document(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:  # noqa: ARG001
        j = (q // block).clamp(max=last)
        in_context = (kv < context) & (kv < anchors[b, j]) & (kv >= since[b, j])
        own = (kv >= context) & ((kv - context) // block == j)
        return keep[b, j] & (in_context | own)

    return visible_in_document


def dense_mask(
    anchors: Tensor,
    keep: Tensor,
    context: int,
    block: int,
    since: Tensor | None = None,
    mask_mod: Callable[..., MaskMod] = dflash_mask_mod,
) -> Tensor:
    """The same predicate as bool [b, Q, S + Q], evaluated for every pair."""
    rows, blocks = anchors.shape
    device = anchors.device
    b = torch.arange(rows, device=device)[:, None, None]
    q = torch.arange(blocks * block, device=device)[None, :, None]
    kv = torch.arange(context + blocks * block, device=device)[None, None, :]
    more = () if since is None else (since,)
    return mask_mod(anchors, keep, context, block, *more)(b, torch.zeros_like(b), q, kv)
