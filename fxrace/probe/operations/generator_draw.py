"""A draw from a generator of its own."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.Generator()


def run(subject: Any) -> Any:
    subject.manual_seed(5)
    return torch.rand(3, generator=subject)


operation = Operation(prepare=prepare, run=run)
