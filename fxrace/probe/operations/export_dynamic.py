"""``torch.export.export`` with a dynamic dimension."""

from __future__ import annotations

from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())


def run(subject: Any) -> Any:
    batch = torch.export.Dim("batch", min=2, max=64)
    shapes = ({0: batch},)
    return torch.export.export(subject, (torch.ones(3, 2),), dynamic_shapes=shapes, strict=False)


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
