"""``torch.cond`` inside a cold compile."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="aot_eager", fullgraph=True), torch.ones(3)


def run(subject: Any) -> Any:
    compiled, x = subject
    return compiled(x)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
