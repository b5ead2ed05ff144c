"""Construction of, and one step with, ``torch.optim.AdamW``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    weight.grad = torch.ones(2)
    optimizer.step()
    optimizer.zero_grad()
    return weight, len(optimizer.state)


operation = Operation(run=run)
