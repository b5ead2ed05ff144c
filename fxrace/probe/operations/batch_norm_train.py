"""A batch norm in training mode with its running statistics reset."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.BatchNorm1d(2)


def run(subject: Any) -> Any:
    subject.reset_running_stats()
    return subject(torch.tensor([[1.0, 2.0], [3.0, 5.0]])), subject.running_mean


operation = Operation(prepare=prepare, run=run)
