"""A few operators under a ``FakeTensorMode`` of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with FakeTensorMode() as mode:
        y = mode.from_tensor(torch.ones(2, 3)).sum(1)
    return type(y).__name__, list(y.shape)


operation = Operation(run=run)
