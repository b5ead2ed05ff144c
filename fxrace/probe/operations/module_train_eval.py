"""``Module.eval`` and ``train`` round a call."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.ReLU())


def run(subject: Any) -> Any:
    subject.eval()
    y = subject(torch.ones(4))
    subject.train()
    return y, subject.training


operation = Operation(prepare=prepare, run=run)
