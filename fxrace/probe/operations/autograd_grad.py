"""``torch.autograd.grad``, twice over."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    (first,) = torch.autograd.grad(subject.pow(3).sum(), subject, create_graph=True)
    return torch.autograd.grad(first.sum(), subject)


operation = Operation(prepare=prepare, run=run)
