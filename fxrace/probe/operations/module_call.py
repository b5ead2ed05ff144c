"""A plain eager call of a module of its own."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3, bias=False), torch.nn.ReLU())
    torch.nn.init.ones_(module[0].weight)
    return module


def run(subject: Any) -> Any:
    return subject(torch.ones(1, 3))


operation = Operation(prepare=prepare, run=run, quick=True)
