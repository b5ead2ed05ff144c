"""A warm compiled function called with a shape it has not seen: one recompile."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + x.shape[0]

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    return compiled


def run(subject: Any) -> Any:
    return subject(torch.ones(4))


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
