"""Saved-tensor hooks, and whether they are refused."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    refused = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message()
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)  # since 2.7
    return {"refused": refused, "top": top is not None and top(True) is not None}


operation = Operation(run=run, kind=Kind.OBSERVER)
