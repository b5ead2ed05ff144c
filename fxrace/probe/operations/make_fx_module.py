"""``make_fx`` of a module that records its module stack."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())


def run(subject: Any) -> Any:
    return make_fx(subject, record_module_stack=True)(torch.ones(1, 2)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
