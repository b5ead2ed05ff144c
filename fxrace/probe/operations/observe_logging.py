"""Levels and handlers of torch's loggers."""

from __future__ import annotations

import logging
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    found = [logging.getLogger(name) for name in ("torch", "torch._dynamo", "torch.fx")]
    return [(one.level, len(one.handlers), one.propagate, one.disabled) for one in found]


operation = Operation(run=run, kind=Kind.OBSERVER)
