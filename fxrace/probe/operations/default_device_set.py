"""``torch.set_default_device`` and back."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    torch.set_default_device("meta")
    inside = torch.ones(2).device
    torch.set_default_device(None)
    return str(inside), str(torch.ones(2).device)


operation = Operation(run=run)
