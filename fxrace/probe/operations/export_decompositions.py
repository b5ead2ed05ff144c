"""``run_decompositions`` of an exported program: a trace of its own."""

from __future__ import annotations

from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    return torch.export.export(model, (torch.ones(1, 2),), strict=False)


def run(subject: Any) -> Any:
    return subject.run_decompositions()


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
