"""A tensor hook and a full backward hook of a module."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    module = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(module.weight)
    module.register_full_backward_hook(lambda module, given, got: (given[0] * 2,))
    return module, torch.ones(1, 2, requires_grad=True)


def run(subject: Any) -> Any:
    module, x = subject
    return torch.autograd.grad(module(x * 1).sum(), x)


operation = Operation(prepare=prepare, run=run)
