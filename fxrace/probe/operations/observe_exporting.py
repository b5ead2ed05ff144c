"""``is_exporting`` and its kin."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    ask = getattr(torch.compiler, "is_exporting", None)
    strict = getattr(torch.compiler, "_is_non_strict_tracing", None)
    return {"exporting": ask and ask(), "non-strict": strict and strict()}


operation = Operation(run=run, kind=Kind.OBSERVER, quick=True)
