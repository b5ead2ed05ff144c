"""``functorch``'s ``aot_function``, forward and backward, outside Dynamo."""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.aot_autograd import aot_function

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return torch.ones(3, requires_grad=True)


def run(subject: Any) -> Any:
    compiled = aot_function(lambda x: (x.sin() * x).sum(), fw_compiler=lambda graph, _: graph)
    return torch.autograd.grad(compiled(subject), subject)


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
