"""A warm call, backend ``eager``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() + 1

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(3))
    return compiled


def run(subject: Any) -> Any:
    return subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run, quick=True)
