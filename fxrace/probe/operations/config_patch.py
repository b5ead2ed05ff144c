"""``torch._dynamo.config.patch`` round a read of what it patched."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo.config as config

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with config.patch(suppress_errors=True, verbose=True):
        torch.ones(2).sin()
        inside = config.suppress_errors, config.verbose
    return inside, config.suppress_errors, config.verbose


operation = Operation(run=run)
