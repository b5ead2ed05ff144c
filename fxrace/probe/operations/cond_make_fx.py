"""``make_fx`` of a function with a ``torch.cond``: its branches are traced one by one."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    def function(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))

    return function


def run(subject: Any) -> Any:
    return make_fx(subject, tracing_mode="symbolic")(torch.ones(3))


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
