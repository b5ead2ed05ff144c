"""``torch.compile(function)`` itself, before any call."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return lambda x: x + 1


def run(subject: Any) -> Any:
    compiled = torch.compile(subject, backend="eager")
    return {"is a wrapper": compiled is not subject}


operation = Operation(prepare=prepare, run=run)
