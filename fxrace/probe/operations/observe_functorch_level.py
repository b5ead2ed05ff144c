"""The level of functorch's stack, and of forward-mode derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return torch._C._functorch.maybe_current_level(), forward_ad._current_level


operation = Operation(run=run, kind=Kind.OBSERVER)
