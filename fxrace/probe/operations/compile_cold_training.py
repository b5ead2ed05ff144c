"""The first forward and backward of a compiled function, backend ``aot_eager``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return (x.sin() * x).sum()

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="aot_eager"), torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    compiled, x = subject
    loss = compiled(x)
    return loss, torch.autograd.grad(loss, x)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
