"""Weights initialised under ``no_init``-style patching: ``torch.nn.utils.skip_init``."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    module = torch.nn.utils.skip_init(torch.nn.Linear, 2, 2)
    return list(module.weight.shape)


operation = Operation(run=run)
