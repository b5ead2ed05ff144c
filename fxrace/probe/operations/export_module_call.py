"""A call of an exported program's module."""

from __future__ import annotations

from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Operation


def prepare() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
    torch.nn.init.ones_(model[0].weight)
    return torch.export.export(model, (torch.ones(1, 2),), strict=False).module()


def run(subject: Any) -> Any:
    return subject(torch.ones(1, 2))


operation = Operation(prepare=prepare, run=run)
