"""``vmap`` over an operator that goes through a decomposition."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    return torch.func.vmap(torch.nn.functional.gelu)(torch.ones(2, 3))


operation = Operation(run=run)
