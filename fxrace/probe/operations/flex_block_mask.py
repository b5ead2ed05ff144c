"""``create_block_mask`` outside any compile."""

from __future__ import annotations

from typing import Any

from torch.nn.attention.flex_attention import create_block_mask

from fxrace.probe.operations import Cost, Operation


def run(_: Any) -> Any:
    mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 128, 128, device="cpu")
    return mask.kv_num_blocks, mask.kv_indices


operation = Operation(run=run, cost=Cost.MEDIUM)
