"""``checkpoint(use_reentrant=False)``, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    loss = checkpoint(lambda x: x.sin().exp(), subject, use_reentrant=False).sum()
    return torch.autograd.grad(loss, subject)


operation = Operation(prepare=prepare, run=run)
