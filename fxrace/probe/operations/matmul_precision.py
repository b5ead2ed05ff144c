"""``set_float32_matmul_precision`` and back."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    inside = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(before)
    return inside, torch.get_float32_matmul_precision()


operation = Operation(run=run)
