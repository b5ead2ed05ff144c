"""``Module.to(dtype)`` there and back."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(module.weight)
    torch.nn.init.ones_(module.bias)
    return module


def run(subject: Any) -> Any:
    doubled = str(subject.to(torch.float64).weight.dtype)
    return doubled, subject.to(torch.float32)


operation = Operation(prepare=prepare, run=run)
