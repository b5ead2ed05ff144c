"""Dropout after ``manual_seed``, in a ``fork_rng`` block."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return torch.dropout(torch.ones(8), 0.5, True), torch.rand(2)


operation = Operation(run=run)
