"""Numbers of threads set."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return torch.get_num_threads(), torch.get_num_interop_threads()


operation = Operation(run=run, kind=Kind.OBSERVER)
