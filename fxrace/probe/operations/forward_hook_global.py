"""A forward hook of all modules, added, run and removed."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.ReLU()


def run(subject: Any) -> Any:
    seen: list[Any] = []
    handle = register_module_forward_hook(lambda module, args, out: seen.append(out.shape))
    subject(torch.ones(2))
    handle.remove()
    return len(seen)


operation = Operation(prepare=prepare, run=run)
