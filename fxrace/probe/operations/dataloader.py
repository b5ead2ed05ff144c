"""One batch from a ``DataLoader`` without workers, not shuffled."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return DataLoader(TensorDataset(torch.arange(4)), batch_size=2)


def run(subject: Any) -> Any:
    return next(iter(subject))


operation = Operation(prepare=prepare, run=run)
