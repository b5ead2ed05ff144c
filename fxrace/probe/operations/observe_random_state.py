"""The state of the default generators, torch's and Python's."""

from __future__ import annotations

import random
from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "torch": torch.get_rng_state().to(torch.int64).sum().item(),
        "seed": torch.initial_seed(),
        "python": sum(random.getstate()[1]),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
