"""``scaled_dot_product_attention`` under ``sdpa_kernel(MATH)``."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(1, 1, 2, 4)


def run(subject: Any) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        inside = torch.backends.cuda.flash_sdp_enabled()
        y = torch.nn.functional.scaled_dot_product_attention(subject, subject, subject)
    return inside, y, torch.backends.cuda.flash_sdp_enabled()


operation = Operation(prepare=prepare, run=run)
