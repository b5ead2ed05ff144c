"""A plain eager call of a module that other operations may trace at the same time."""

from __future__ import annotations

import sys
from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    shared = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    return sys.modules.setdefault("shared_by_operations", shared)


def run(subject: Any) -> Any:
    return subject(torch.ones(1, 3)).shape


operation = Operation(prepare=prepare, run=run)
