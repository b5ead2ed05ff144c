"""An LSTM call."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.LSTM(2, 2)
    for weight in module.parameters():
        torch.nn.init.ones_(weight)
    return module


def run(subject: Any) -> Any:
    return subject(torch.ones(1, 1, 2))[0]


operation = Operation(prepare=prepare, run=run)
