"""``while_loop`` inside a cold compile."""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops import while_loop

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(i: Any) -> Any:
        return while_loop(lambda i: i < 3, lambda i: (i + 1,), (i,))

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="aot_eager", fullgraph=True), torch.tensor(0)


def run(subject: Any) -> Any:
    compiled, i = subject
    return compiled(i)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
