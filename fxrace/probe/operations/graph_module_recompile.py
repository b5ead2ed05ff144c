"""``GraphModule.recompile``: code is generated and executed."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.fx.symbolic_trace(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    subject.recompile()
    return subject.code, subject(torch.ones(2))


operation = Operation(prepare=prepare, run=run)
