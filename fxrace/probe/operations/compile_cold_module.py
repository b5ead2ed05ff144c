"""The first call of a compiled module."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Tanh())
    torch.nn.init.ones_(model[0].weight)

    def function(x: Any) -> Any:
        return model(x)

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="eager"), torch.ones(1, 2)


def run(subject: Any) -> Any:
    compiled, x = subject
    return compiled(x)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
