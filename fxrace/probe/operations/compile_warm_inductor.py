"""A warm call, backend ``inductor``."""

from __future__ import annotations

import shutil
from typing import Any

import torch

from fxrace.probe.operations import Operation


def refuse(device_type: str) -> str | None:
    if device_type == "cpu" and shutil.which("g++") is None:
        return "needs a C++ compiler for Inductor on the CPU"
    return None


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function)
    compiled(torch.ones(3))
    return compiled


def run(subject: Any) -> Any:
    return subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run, refuse=refuse)
