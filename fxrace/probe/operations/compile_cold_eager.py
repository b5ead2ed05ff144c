"""The first call of a compiled function, backend ``eager``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="eager"), torch.ones(3)


def run(subject: Any) -> Any:
    compiled, x = subject
    return compiled(x)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
