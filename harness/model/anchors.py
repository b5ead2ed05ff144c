"""Where draft blocks start, what each slot must predict, and how much that counts.

The number of blocks is fixed: rows with too few places to start get blocks with ``keep`` False,
so that shapes, and with them compiled kernels, never change. In packed rows (``starts`` i64 [b, S]:
where in the row each token's document begins) a border is to a block what the row's end is.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from harness.numerics import Convention

GIVEN = Convention(first=1, offset=0)
"""DFlash's: slot 0 holds the anchor, slot k predicts token a + k."""


def sample_anchors(
    loss_mask: Tensor, count: int, generator: torch.Generator, starts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Draw ``count`` anchors per row: anchors i64 and keep bool [b, count], ascending.

    Uniform without replacement among positions p such that p and p + 1 are supervised
    (``loss_mask`` bool [b, S]) and of one document. Unused slots come last, with anchor S - 1 and
    keep False. Draws on the generator's device; nothing waits for the accelerator.
    """
    rows, context = loss_mask.shape
    eligible = loss_mask & F.pad(loss_mask[:, 1:], (0, 1))
    if starts is not None:
        eligible &= F.pad(starts[:, 1:] == starts[:, :-1], (0, 1))
    luck = torch.rand((rows, context), generator=generator, device=generator.device)
    luck = luck.to(loss_mask.device).masked_fill(~eligible, -1.0)
    if starts is not None:
        luck = _in_turn(luck, starts)
    best = luck.topk(min(count, context), dim=1)
    unused = context - 1  # never eligible, so it sorts behind every real anchor
    drawn = torch.where(best.values >= 0, best.indices, unused)
    anchors = F.pad(drawn, (0, count - drawn.shape[1]), value=unused).sort(dim=1).values
    return anchors, anchors < unused


def _in_turn(luck: Tensor, starts: Tensor) -> Tensor:
    """Luck such that the documents of a row get their anchors in turn, each its luckiest first.

    So a short one is not starved by its neighbours: it gets as many as they do, or all that it
    has places for. Of one document in the row the order stays. f64; negative stays negative.
    """
    order = luck.argsort(dim=1, descending=True, stable=True)
    by_document = starts.gather(1, order).argsort(dim=1, stable=True)
    order = order.gather(1, by_document)
    # So many tokens lie before a document as before its tokens in this order.
    rank = torch.arange(luck.shape[1], device=luck.device) - starts.gather(1, order)
    rank = torch.empty_like(rank).scatter_(1, order, rank)
    return torch.where(luck < 0, luck.double(), luck.double() + (luck.shape[1] - rank))


def label_slots(
    input_ids: Tensor,
    loss_mask: Tensor,
    anchors: Tensor,
    keep: Tensor,
    block: int,
    gamma: float,
    convention: Convention = GIVEN,
    starts: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Labels i64 and weights f32 [b, N, B]: slot k predicts token a + k + ``offset``.

    Weight of a supervised slot is exp(-(k - first) / gamma); 0 for earlier slots, past the end
    of the row or the document, in unused blocks and where the token is not supervised.
    """
    context, first = input_ids.shape[1], convention.first
    slots = torch.arange(block, device=anchors.device)
    positions = anchors[:, :, None] + slots + convention.offset
    inside = positions.clamp(max=context - 1)
    labels = input_ids.gather(1, inside.flatten(1)).view_as(positions)
    supervised = loss_mask.gather(1, inside.flatten(1)).view_as(positions)
    counted = supervised & keep[:, :, None] & (positions < context) & (slots >= first)
    if starts is not None:
        mine = starts.gather(1, anchors)[:, :, None]
        counted &= starts.gather(1, inside.flatten(1)).view_as(positions) == mine
    return labels, torch.exp(-(slots - first) / gamma) * counted


def draft_tokens(input_ids: Tensor, anchors: Tensor, mask_token: int, block: int) -> Tensor:
    """What the drafter reads: [anchor token, mask, mask, ...] per block, i64 [b, N * B]."""
    first = input_ids.gather(1, anchors)[:, :, None]
    return F.pad(first, (0, block - 1), value=mask_token).flatten(1)
