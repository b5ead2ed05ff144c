"""The backward whose graph is compiled only when it is called, outside Dynamo's lock."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return (x.sin() * x).sum()

    function.__code__ = function.__code__.replace()
    x = torch.ones(3, requires_grad=True)
    return torch.compile(function, backend="aot_eager")(x), x


def run(subject: Any) -> Any:
    loss, x = subject
    return torch.autograd.grad(loss, x)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
