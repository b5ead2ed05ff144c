"""Triton: kernels compiled by Inductor's autotuner and by users' ``@triton.jit`` functions.

Both keep what they compile in dictionaries without a lock. A warm launch passes neither place.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fxrace.probe.hooks import Absent, Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = (
    "CachingAutotuner.precompile in 2.4 to 2.15; JITFunction._do_compile in Triton 3.4 and later"
)
AFTER = "triton.runtime.jit"
KIND = "triton"


def attach(watching: Watching) -> Detach:
    if find_spec("triton") is None:
        raise Absent("no triton")
    import torch
    from torch._inductor.runtime import triton_heuristics

    jit: Any = import_module("triton.runtime.jit")
    autotuner: Any = getattr(triton_heuristics, "CachingAutotuner", None)
    if "precompile" not in vars(autotuner):
        raise Blind("torch's CachingAutotuner has no precompile")
    if "_do_compile" not in vars(jit.JITFunction):
        if not torch.cuda.is_available():
            raise Absent("no GPU for Triton to compile for")
        raise Blind("this Triton compiles inside JITFunction.run, which a warm launch runs too")
    return in_reverse(
        _wrap(watching, autotuner, "precompile"), _wrap(watching, jit.JITFunction, "_do_compile")
    )


def _wrap(watching: Watching, holder: Any, name: str) -> Detach:
    original = getattr(holder, name)

    @wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = getattr(self, "fn", None)
        with watching.regions.region(KIND, str(getattr(function, "__name__", name))):
            return original(self, *args, **kwargs)

    return replaced(holder, name, method)
