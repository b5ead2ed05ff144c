"""``torch.export.export`` through Dynamo."""

from __future__ import annotations

from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())


def run(subject: Any) -> Any:
    return torch.export.export(subject, (torch.ones(1, 2),), strict=True)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
