"""All of Inductor's plain options."""

from __future__ import annotations

from typing import Any

import torch._inductor.config as config

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    found = config.shallow_copy_dict() if hasattr(config, "shallow_copy_dict") else config.to_dict()
    return {name: value for name, value in found.items() if isinstance(value, (bool, int, str))}


operation = Operation(run=run, kind=Kind.OBSERVER)
