"""``torch.save`` and ``load`` of a state dict in memory."""

from __future__ import annotations

import io
from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(module.weight)
    torch.nn.init.ones_(module.bias)
    return module


def run(subject: Any) -> Any:
    stream = io.BytesIO()
    torch.save(subject.state_dict(), stream)
    stream.seek(0)
    subject.load_state_dict(torch.load(stream, weights_only=True))
    return subject


operation = Operation(prepare=prepare, run=run)
