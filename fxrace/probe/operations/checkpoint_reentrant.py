"""``checkpoint(use_reentrant=True)``, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    subject.grad = None
    checkpoint(lambda x: x.sin().exp(), subject, use_reentrant=True).sum().backward()
    return subject.grad


operation = Operation(prepare=prepare, run=run)
