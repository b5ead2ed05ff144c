"""A module with a parametrization, called in a ``parametrize.cached`` block."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.utils import parametrize

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(module.weight)
    parametrize.register_parametrization(module, "weight", torch.nn.Softplus())
    return module


def run(subject: Any) -> Any:
    with parametrize.cached():
        same = subject.weight is subject.weight
        y = subject(torch.ones(1, 2))
    return {"cached": same, "cached afterwards": subject.weight is subject.weight, "y": y}


operation = Operation(prepare=prepare, run=run)
