"""The first call of a compiled function, backend ``inductor``."""

from __future__ import annotations

import shutil
from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def refuse(device_type: str) -> str | None:
    if device_type == "cpu" and shutil.which("g++") is None:
        return "needs a C++ compiler for Inductor on the CPU"
    return None


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    return torch.compile(function), torch.ones(3)


def run(subject: Any) -> Any:
    compiled, x = subject
    return compiled(x)


operation = Operation(
    prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE, refuse=refuse
)
