"""``torch.func.functional_call`` of a module of its own."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.Linear(2, 2), {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}


def run(subject: Any) -> Any:
    module, weights = subject
    return torch.func.functional_call(module, weights, (torch.ones(1, 2),))


operation = Operation(prepare=prepare, run=run)
