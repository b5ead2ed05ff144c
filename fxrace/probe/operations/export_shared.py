"""``torch.export.export`` of the module that ``module_call_shared`` calls."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    shared = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    return sys.modules.setdefault("shared_by_operations", shared)


def run(subject: Any) -> Any:
    return torch.export.export(subject, (torch.ones(1, 3),), strict=False)


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
