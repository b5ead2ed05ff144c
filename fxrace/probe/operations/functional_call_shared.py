"""``torch.func.functional_call`` of the module that ``module_call_shared`` calls."""

from __future__ import annotations

import sys
from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    shared = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    return sys.modules.setdefault("shared_by_operations", shared)


def run(subject: Any) -> Any:
    weights = {"0.weight": torch.full((3, 3), 2.0), "0.bias": torch.zeros(3)}
    return torch.func.functional_call(subject, weights, (torch.ones(1, 3),))


operation = Operation(prepare=prepare, run=run)
