"""A call of a custom operator."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    if not hasattr(torch.ops.fxrace_operations, "double"):
        made = torch.library.custom_op("fxrace_operations::double", double, mutates_args=())
        made.register_fake(torch.empty_like)
    return torch.ops.fxrace_operations.double


def run(subject: Any) -> Any:
    return subject(torch.ones(2))


operation = Operation(prepare=prepare, run=run)
