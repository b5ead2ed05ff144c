"""A custom operator whose fake kernel makes an unbacked size, under ``make_fx``."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    def keep(x: torch.Tensor) -> torch.Tensor:
        return x[x > 0]

    def fake(x: Any) -> Any:
        return x.new_empty(torch.library.get_ctx().new_dynamic_size())

    if not hasattr(torch.ops.fxrace_operations, "keep"):
        made = torch.library.custom_op("fxrace_operations::keep", keep, mutates_args=())
        made.register_fake(fake)
    return torch.ops.fxrace_operations.keep


def run(subject: Any) -> Any:
    return make_fx(lambda x: subject(x) + 1, tracing_mode="symbolic")(torch.ones(3)).graph


operation = Operation(prepare=prepare, run=run, cost=Cost.EXPENSIVE)
