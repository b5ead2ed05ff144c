"""One draw from the default generator, not seeded: each draw must be a new one."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation, Reuse


def run(_: Any) -> Any:
    return torch.rand(2)


operation = Operation(run=run, reuse=Reuse.ONCE, quick=True)
