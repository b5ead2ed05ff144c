"""``torch._inductor.config.patch`` round a read of what it patched."""

from __future__ import annotations

from typing import Any

import torch
import torch._inductor.config as config

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with config.patch(max_fusion_size=3):
        torch.ones(2).sin()
        inside = config.max_fusion_size
    return inside, config.max_fusion_size


operation = Operation(run=run)
