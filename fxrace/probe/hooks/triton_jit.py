"""Triton: what users' ``@triton.jit`` functions compile, kept in dictionaries without a lock.

A warm launch does not pass here. Inductor's own kernels: see ``triton_autotune``.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import Any

from fxrace.probe.hooks import Absent, Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "JITFunction._do_compile in Triton 3.4 and later"
AFTER = "triton.runtime.jit"
KIND = "triton"


def attach(watching: Watching) -> Detach:
    import torch

    try:
        function: Any = import_module(AFTER).JITFunction
    except ModuleNotFoundError as error:
        raise Absent("no triton") from error
    original = vars(function).get("_do_compile")
    if original is None:
        if not torch.cuda.is_available():
            raise Absent("no GPU for Triton to compile for")
        raise Blind("this Triton compiles inside JITFunction.run, which a warm launch runs too")

    @wraps(original)
    def compiled(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = str(getattr(getattr(self, "fn", None), "__name__", "kernel"))
        with watching.regions.region(KIND, name):
            return original(self, *args, **kwargs)

    return replaced(function, "_do_compile", compiled)
