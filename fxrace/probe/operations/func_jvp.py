"""``torch.func.jvp``: forward-mode derivatives."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return lambda x: (x.sin() * x).sum()


def run(subject: Any) -> Any:
    return torch.func.jvp(subject, (torch.ones(3),), (torch.ones(3),))


operation = Operation(prepare=prepare, run=run)
