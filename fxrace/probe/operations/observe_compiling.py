"""``is_compiling``, as libraries ask it."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "compiler": torch.compiler.is_compiling(),
        "dynamo": torch.compiler.is_dynamo_compiling(),
        "utils": torch._utils.is_compiling() if hasattr(torch._utils, "is_compiling") else None,
    }


operation = Operation(run=run, kind=Kind.OBSERVER, quick=True)
