"""A call under ``inference_mode``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with torch.inference_mode():
        inside = torch.ones(2).is_inference()
    return inside, torch.ones(2).is_inference()


operation = Operation(run=run)
