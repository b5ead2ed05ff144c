"""``make_fx`` with fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return lambda x: (x.sin() * 2).sum()


def run(subject: Any) -> Any:
    return make_fx(subject, tracing_mode="fake")(torch.ones(3)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
