"""Inductor: ``compile_fx``, and its code generation for forward and lazy backward graphs.

Callers that reach ``compile_fx`` through Dynamo hold ``compile_lock``; those that call it directly
do not, and share Inductor's registries and counters all the same. A code generation that the
on-disk cache answers is not one, so ``fx_codegen_and_compile`` may be missing inside a region.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.6 to 2.15"
AFTER = "torch._inductor.compile_fx"
KIND = "inductor"
_ENTRIES = ("compile_fx", "fx_codegen_and_compile")


def attach(watching: Watching) -> Detach:
    from torch._inductor import compile_fx

    if "compile_fx" not in vars(compile_fx):
        raise Blind("torch._inductor.compile_fx has no compile_fx")
    entries = [name for name in _ENTRIES if name in vars(compile_fx)]
    return in_reverse(*(_wrap(watching, compile_fx, name) for name in entries))


def _wrap(watching: Watching, module: Any, name: str) -> Detach:
    original = getattr(module, name)

    @wraps(original)
    def entry(*args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, name):
            return original(*args, **kwargs)

    return replaced(module, name, entry)
