"""``backward()`` through a small graph."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    subject.grad = None
    (subject.sin() * subject).sum().backward()
    return subject.grad


operation = Operation(prepare=prepare, run=run)
