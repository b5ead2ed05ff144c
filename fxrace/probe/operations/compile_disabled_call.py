"""A call of a function under ``torch.compiler.disable``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.compiler.disable(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    return subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run)
