"""``torch.func.hessian``: forward over reverse."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.func.hessian(lambda x: (x.sin() * x).sum())


def run(subject: Any) -> Any:
    return subject(torch.ones(2))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
