"""A warm compiled call under ``torch.compiler.set_stance("force_eager")``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    def function(x: Any) -> Any:
        return x.sin() if torch.compiler.is_compiling() else x.sin() + 1

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(3))
    return compiled


def run(subject: Any) -> Any:
    with torch.compiler.set_stance("force_eager"):
        eager = subject(torch.ones(3))
    return eager, subject(torch.ones(3))


operation = Operation(prepare=prepare, run=run)
