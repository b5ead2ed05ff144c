"""``torch.cond`` outside any compile."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def run(_: Any) -> Any:
    x = torch.ones(3)
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))


operation = Operation(run=run, cost=Cost.MEDIUM)
