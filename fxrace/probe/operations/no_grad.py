"""A call under ``no_grad``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(2, requires_grad=True)


def run(subject: Any) -> Any:
    with torch.no_grad():
        inside = (subject * 2).requires_grad
    return inside, (subject * 2).requires_grad


operation = Operation(prepare=prepare, run=run)
