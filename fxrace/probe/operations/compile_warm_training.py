"""A warm forward and backward, backend ``aot_eager``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    def function(x: Any) -> Any:
        return (x.sin() * x).sum()

    function.__code__ = function.__code__.replace()
    compiled, x = torch.compile(function, backend="aot_eager"), torch.ones(3, requires_grad=True)
    torch.autograd.grad(compiled(x), x)
    return compiled, x


def run(subject: Any) -> Any:
    compiled, x = subject
    return torch.autograd.grad(compiled(x), x)


operation = Operation(prepare=prepare, run=run)
