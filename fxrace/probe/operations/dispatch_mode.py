"""A ``TorchDispatchMode`` that counts what it sees."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fxrace.probe.operations import Operation


def prepare() -> Any:
    class Counting(TorchDispatchMode):  # type: ignore[misc]
        seen = 0

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen += 1
            return func(*args, **(kwargs or {}))

    return Counting


def run(subject: Any) -> Any:
    with subject() as mode:
        torch.ones(2).sin()
    return mode.seen


operation = Operation(prepare=prepare, run=run)
