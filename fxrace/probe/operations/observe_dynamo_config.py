"""All of Dynamo's plain options."""

from __future__ import annotations

from typing import Any

import torch._dynamo.config as config

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return config.shallow_copy_dict() if hasattr(config, "shallow_copy_dict") else config.to_dict()


operation = Operation(run=run, kind=Kind.OBSERVER)
