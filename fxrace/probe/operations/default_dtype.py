"""``torch.set_default_dtype`` and back, round a factory call."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    inside = torch.tensor(1.0).dtype
    torch.set_default_dtype(before)
    return inside, torch.tensor(1.0).dtype


operation = Operation(run=run)
