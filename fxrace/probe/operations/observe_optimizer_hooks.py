"""The hooks of all optimizers."""

from __future__ import annotations

from typing import Any

from torch.optim import optimizer

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return len(optimizer._global_optimizer_pre_hooks), len(optimizer._global_optimizer_post_hooks)


operation = Operation(run=run, kind=Kind.OBSERVER)
