"""A custom ``torch.autograd.Function``, forward and backward."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    return Double, torch.ones(2, requires_grad=True)


def run(subject: Any) -> Any:
    function, x = subject
    return torch.autograd.grad(function.apply(x).sum(), x)


operation = Operation(prepare=prepare, run=run)
