"""Whether TorchScript traces or scripts."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return torch.jit.is_tracing(), torch.jit.is_scripting(), torch._C._get_tracing_state() is None


operation = Operation(run=run, kind=Kind.OBSERVER)
