"""``torch.jit.trace`` of a function."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return lambda x: x.sin() + 1


def run(subject: Any) -> Any:
    traced = torch.jit.trace(subject, (torch.ones(2),), check_trace=False)
    kinds = [node.kind() for node in traced.graph.nodes()]
    return kinds, traced(torch.ones(2))


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
