"""An optimizer step under a step hook of all optimizers, added and removed."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    seen: list[Any] = []
    handle = register_optimizer_step_post_hook(lambda *_: seen.append(1))
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = torch.ones(2)
    optimizer.step()
    handle.remove()
    return len(seen), weight


operation = Operation(run=run)
