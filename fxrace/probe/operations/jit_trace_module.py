"""``torch.jit.trace`` of a module."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
    torch.nn.init.ones_(module[0].weight)
    return module


def run(subject: Any) -> Any:
    return torch.jit.trace(subject, (torch.ones(1, 2),), check_trace=False)(torch.ones(1, 2))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
