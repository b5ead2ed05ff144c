"""``detect_anomaly`` round a backward."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    with torch.autograd.set_detect_anomaly(True):
        inside = torch.is_anomaly_enabled()
        (gradient,) = torch.autograd.grad(subject.sin().sum(), subject)
    return inside, gradient


operation = Operation(prepare=prepare, run=run)
