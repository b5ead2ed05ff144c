"""Eager code that takes another branch while compiling, as libraries do."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    x = torch.ones(3)
    if torch.compiler.is_compiling():
        return x.sum()
    return x.sum() if x.sum().item() < 0 else -x


operation = Operation(run=run)
