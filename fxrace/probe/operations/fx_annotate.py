"""``torch.fx.traceback.annotate`` round a few operators."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import traceback

from fxrace.probe.operations import Operation


def refuse(device_type: str) -> str | None:
    return None if hasattr(traceback, "annotate") else "this torch has no fx.traceback.annotate"


def run(_: Any) -> Any:
    with traceback.annotate({"stage": 1}):
        inside = dict(traceback.current_meta.get("custom", {}))
        y = torch.ones(2).sin()
    return inside, y


operation = Operation(run=run, refuse=refuse)
