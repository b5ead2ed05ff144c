"""``torch._dynamo.config.patch`` round a read of what it patched."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo.config as config

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with config.patch(recompile_limit=3, verbose=True):
        torch.ones(2).sin()
        inside = config.recompile_limit, config.verbose
    return inside, config.recompile_limit, config.verbose


operation = Operation(run=run)
