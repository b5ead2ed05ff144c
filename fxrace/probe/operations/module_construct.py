"""Construction of modules, on the meta device and on the CPU."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2, device="meta"), torch.nn.BatchNorm1d(2))
    module.register_buffer("scale", torch.ones(2))
    return module


operation = Operation(run=run)
