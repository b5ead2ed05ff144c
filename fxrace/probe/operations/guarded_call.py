"""A warm compiled function with two cache entries, told apart by a global of its own."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    def function(x: Any, flag: bool) -> Any:  # noqa: FBT001 - what is guarded on
        return x + 1 if flag else x - 1

    function.__code__ = function.__code__.replace()
    compiled = torch.compile(function, backend="eager")
    compiled(torch.ones(3), True)
    compiled(torch.ones(3), False)
    return compiled


def run(subject: Any) -> Any:
    return subject(torch.ones(3), True), subject(torch.ones(3), False)


operation = Operation(prepare=prepare, run=run)
