"""A transformer encoder layer in eval mode: module calls, fast-path checks, attention."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    for weight in layer.parameters():
        torch.nn.init.ones_(weight)
    return layer


def run(subject: Any) -> Any:
    with torch.no_grad():
        return subject(torch.arange(8.0).reshape(1, 2, 4))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
