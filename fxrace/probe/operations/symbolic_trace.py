"""``torch.fx.symbolic_trace`` of a module of its own."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())


def run(subject: Any) -> Any:
    return torch.fx.symbolic_trace(subject).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM, quick=True)
