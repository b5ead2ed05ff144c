"""``torch._dynamo.reset()``, as servers call it to free memory."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Cost, Operation, Reuse


def run(_: Any) -> Any:
    torch._dynamo.reset()


operation = Operation(run=run, reuse=Reuse.ONCE, cost=Cost.MEDIUM)
