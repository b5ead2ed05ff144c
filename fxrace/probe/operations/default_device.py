"""A factory call under ``with torch.device("meta")``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with torch.device("meta"):
        inside = torch.ones(2).device
    return str(inside), str(torch.ones(2).device)


operation = Operation(run=run)
