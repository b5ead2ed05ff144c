"""Saved-tensor hooks round a forward, and their effect in backward."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    packed: list[Any] = []
    with saved_tensors_hooks(lambda x: packed.append(1) or x, lambda x: x * 2):  # type: ignore[func-returns-value]
        loss = subject.pow(2).sum()
    return len(packed), torch.autograd.grad(loss, subject)


operation = Operation(prepare=prepare, run=run)
