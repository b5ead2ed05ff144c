"""Attributes of ``nn.Module`` itself."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        name: getattr(value, "__qualname__", str(type(value)))
        for name, value in vars(torch.nn.Module).items()
    }


operation = Operation(run=run, kind=Kind.OBSERVER, quick=True)
