"""One step of ``torch.optim.LBFGS``, which calls its closure."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def run(_: Any) -> Any:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([weight], lr=0.1, max_iter=2)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weight


operation = Operation(run=run, cost=Cost.MEDIUM)
