"""A forward hook of one module, added, run and removed."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.ReLU()


def run(subject: Any) -> Any:
    seen: list[Any] = []
    handle = subject.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    subject(torch.ones(2))
    handle.remove()
    return len(seen)


operation = Operation(prepare=prepare, run=run)
