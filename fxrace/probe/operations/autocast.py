"""A module call under CPU autocast."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(module.weight)
    return module


def run(subject: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = subject(torch.ones(1, 2))
    return y.dtype, subject(torch.ones(1, 2)).dtype


operation = Operation(prepare=prepare, run=run)
