"""Every function of ``torch``, ``torch.nn.functional`` and ``torch.autograd``."""

from __future__ import annotations

import types
from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    spaces = {"torch": torch, "functional": torch.nn.functional, "autograd": torch.autograd}
    return {
        f"{space}.{name}": f"{value.__module__}.{value.__qualname__}"
        for space, module in spaces.items()
        for name, value in list(vars(module).items())
        if isinstance(value, types.FunctionType)
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
