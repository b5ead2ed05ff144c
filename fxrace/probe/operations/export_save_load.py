"""``torch.export.save`` and ``load`` of a program in memory."""

from __future__ import annotations

import io
from typing import Any

import torch
import torch.export

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    return torch.export.export(model, (torch.ones(1, 2),), strict=False)


def run(subject: Any) -> Any:
    stream = io.BytesIO()
    torch.export.save(subject, stream)
    stream.seek(0)
    return torch.export.load(stream)


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
