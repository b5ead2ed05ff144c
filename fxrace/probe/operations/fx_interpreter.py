"""``torch.fx.Interpreter`` over a traced graph."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.fx.symbolic_trace(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    return torch.fx.Interpreter(subject).run(torch.ones(2))


operation = Operation(prepare=prepare, run=run)
