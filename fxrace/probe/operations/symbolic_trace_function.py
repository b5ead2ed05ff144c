"""``torch.fx.symbolic_trace`` of a function, run afterwards."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return lambda x: torch.relu(x) + x.sum()


def run(subject: Any) -> Any:
    traced = torch.fx.symbolic_trace(subject)
    return traced.graph, traced(torch.ones(2))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
