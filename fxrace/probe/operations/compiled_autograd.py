"""A backward under ``compiled_autograd``."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo import compiled_autograd

from fxrace.probe.operations import Cost, Operation


def refuse(device_type: str) -> str | None:
    return None if hasattr(compiled_autograd, "_enable") else "this torch has no _enable"


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    subject.grad = None
    with compiled_autograd._enable(lambda graph: graph):
        subject.sin().sum().backward()
    return subject.grad


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM, refuse=refuse)
