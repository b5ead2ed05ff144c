"""``torch.fx.replace_pattern``: two traces and a rewrite."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation


def prepare() -> Any:
    return lambda x: torch.relu(x) + 1, lambda x: torch.relu(x), lambda x: torch.tanh(x)


def run(subject: Any) -> Any:
    function, pattern, replacement = subject
    traced = torch.fx.symbolic_trace(function)
    torch.fx.replace_pattern(traced, pattern, replacement)
    return traced.graph


operation = Operation(prepare=prepare, run=run, cost=Cost.MEDIUM)
