"""``flex_attention`` as it is called without ``torch.compile``."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention.flex_attention import flex_attention

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.ones(1, 1, 16, 16)


def run(subject: Any) -> Any:
    return flex_attention(subject, subject, subject)


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
