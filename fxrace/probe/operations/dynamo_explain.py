"""``torch._dynamo.explain`` of a function."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    return function


def run(subject: Any) -> Any:
    return torch._dynamo.explain(subject)(torch.ones(2)).graph_count


operation = Operation(prepare=prepare, run=run, reuse=Reuse.ONCE, cost=Cost.EXPENSIVE)
