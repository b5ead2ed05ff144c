"""The default device."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return str(torch.get_default_device()), str(torch.empty(0).device)


operation = Operation(run=run, kind=Kind.OBSERVER)
