"""Whether a symbolic trace is running."""

from __future__ import annotations

from typing import Any

import torch.fx._symbolic_trace as symbolic

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return symbolic.is_fx_tracing()


operation = Operation(run=run, kind=Kind.OBSERVER)
