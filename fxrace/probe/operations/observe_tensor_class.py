"""Every attribute of ``torch.Tensor``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        name: f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', type(value))}"
        for name, value in list(vars(torch.Tensor).items())
        if not name.startswith("__doc")
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
