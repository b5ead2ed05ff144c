"""The settings of functorch and of custom operators."""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch import vmap

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "vmap randomness": getattr(vmap, "lazy_load_decompositions", None) is not None,
        "fallback warnings": torch._C._debug_only_are_vmap_fallback_warnings_enabled(),
        "swap": torch.__future__.get_swap_module_params_on_conversion(),
        "overwrite": torch.__future__.get_overwrite_module_params_on_conversion(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
