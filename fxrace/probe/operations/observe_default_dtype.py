"""The default dtype."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return torch.get_default_dtype(), torch.tensor(1.0).dtype


operation = Operation(run=run, kind=Kind.OBSERVER)
