"""``copy.deepcopy`` of a module."""

from __future__ import annotations

import copy
from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(module.weight)
    torch.nn.init.ones_(module.bias)
    return module


def run(subject: Any) -> Any:
    return copy.deepcopy(subject)


operation = Operation(prepare=prepare, run=run)
