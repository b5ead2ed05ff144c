"""``make_fx`` of an Interpreter that keeps the nodes' metadata."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import traceback
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.fx.symbolic_trace(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    with traceback.preserve_node_meta():
        return make_fx(torch.fx.Interpreter(subject).run)(torch.ones(2)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
