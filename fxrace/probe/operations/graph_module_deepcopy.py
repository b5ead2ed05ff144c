"""``copy.deepcopy`` of a traced ``GraphModule``, called afterwards."""

from __future__ import annotations

import copy
from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.fx.symbolic_trace(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    copied = copy.deepcopy(subject)
    return copied.graph, copied(torch.ones(2))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
