"""``while_loop`` outside any compile."""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops import while_loop

from fxrace.probe.operations import Cost, Operation


def run(_: Any) -> Any:
    return while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))


operation = Operation(run=run, cost=Cost.MEDIUM)
