"""Switches of fake tensors and meta conversion."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import fake_tensor as fake

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "only lift cpu": torch._C._only_lift_cpu_tensors(),
        "skip": torch._C._dispatch_isTensorSubclassLike(torch.ones(1)),
        "cache": fake.FakeTensorMode.cache_hits >= 0,
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
