"""``torch.func.grad``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.func.grad(lambda x: (x.sin() * x).sum())


def run(subject: Any) -> Any:
    return subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run)
