"""Inductor's Triton kernels, compiled and chosen by its autotuner; a warm launch passes by."""

from __future__ import annotations

from functools import wraps
from importlib.util import find_spec
from typing import Any

from fxrace.probe.hooks import Absent, Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "CachingAutotuner.precompile in 2.4 to 2.15"
AFTER = "torch._inductor.runtime.triton_heuristics"
KIND = "triton"


def attach(watching: Watching) -> Detach:
    if find_spec("triton") is None:
        raise Absent("no triton")
    from torch._inductor.runtime import triton_heuristics

    autotuner: Any = getattr(triton_heuristics, "CachingAutotuner", None)
    original = vars(autotuner).get("precompile") if autotuner is not None else None
    if original is None:
        raise Blind("torch's CachingAutotuner has no precompile")

    @wraps(original)
    def precompile(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = str(getattr(getattr(self, "fn", None), "__name__", "kernel"))
        with watching.regions.region(KIND, name):
            return original(self, *args, **kwargs)

    return replaced(autotuner, "precompile", precompile)
