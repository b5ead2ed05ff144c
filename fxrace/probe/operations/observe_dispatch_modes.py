"""The stacks of dispatch and function modes, and the flags beside them."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils._python_dispatch as dispatch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "dispatch": torch._C._len_torch_dispatch_stack(),
        "function": torch._C._len_torch_function_stack(),
        "in a mode": getattr(dispatch, "is_in_torch_dispatch_mode", lambda: None)(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
