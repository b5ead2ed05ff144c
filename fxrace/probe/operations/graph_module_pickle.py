"""``pickle`` of a traced ``GraphModule``; loading it traces again."""

from __future__ import annotations

import pickle
from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))


def run(subject: Any) -> Any:
    return pickle.loads(pickle.dumps(subject)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
