"""Parameters and submodules read by attribute."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(module.weight)
    return module


def run(subject: Any) -> Any:
    return subject.weight, hasattr(subject, "nothing")


operation = Operation(prepare=prepare, run=run)
