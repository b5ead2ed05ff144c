"""Inductor called without Dynamo: ``compile_fx`` of a traced module, outside Dynamo's lock."""

from __future__ import annotations

import shutil
from typing import Any

import torch
from torch._inductor.compile_fx import compile_fx

from fxrace.probe.operations import Cost, Operation, Reuse


def refuse(device_type: str) -> str | None:
    if device_type == "cpu" and shutil.which("g++") is None:
        return "needs a C++ compiler for Inductor on the CPU"
    return None


def prepare() -> Any:
    return torch.fx.symbolic_trace(lambda x: x.sin() + 1)


def run(subject: Any) -> Any:
    with torch.no_grad():
        return compile_fx(subject, [torch.ones(3)])(torch.ones(3))


operation = Operation(
    prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE, refuse=refuse
)
