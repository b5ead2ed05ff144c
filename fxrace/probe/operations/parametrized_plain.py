"""A module with a parametrization, changed between two calls."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.utils import parametrize

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2, bias=False)
    parametrize.register_parametrization(module, "weight", torch.nn.Softplus())
    return module


def run(subject: Any) -> Any:
    original, found = subject.parametrizations.weight.original, []
    for value in (1.0, 2.0):
        torch.nn.init.constant_(original, value)
        found.append(subject(torch.ones(1, 2)))
    return found


operation = Operation(prepare=prepare, run=run)
