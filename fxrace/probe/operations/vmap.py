"""``torch.func.vmap``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.func.vmap(lambda x: x.sin().sum())


def run(subject: Any) -> Any:
    return subject(torch.ones(2, 3))


operation = Operation(prepare=prepare, run=run)
