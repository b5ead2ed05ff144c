"""``make_fx`` with symbolic shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return lambda x: x.reshape(-1) * x.shape[0]


def run(subject: Any) -> Any:
    return make_fx(subject, tracing_mode="symbolic")(torch.ones(3, 4)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
