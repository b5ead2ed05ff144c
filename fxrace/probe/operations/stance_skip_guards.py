"""A warm compiled call under the stance that evaluates no guards."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from fxrace.probe.operations import Operation


def refuse(device_type: str) -> str | None:
    if "skip_guard_eval_unsafe" in inspect.signature(torch.compiler.set_stance).parameters:
        return None
    return "this torch's set_stance has no skip_guard_eval_unsafe"


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(3))
    return compiled


def run(subject: Any) -> Any:
    with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
        return subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run, refuse=refuse)
