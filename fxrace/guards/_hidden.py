"""Tells Dynamo to leave our own code alone, should it meet it inside a compiled call.

Only code objects of ours are marked, never a rule of torch's: nothing is left to take back.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any


def hide_guards() -> None:
    """Mark every function of every module of this package that is loaded."""
    from torch._dynamo.eval_frame import skip_code

    for name, module in list(sys.modules.items()):
        if name.startswith("fxrace.guards") and module is not None:
            for code in _codes_of(module, name):
                skip_code(code)


def _codes_of(module: Any, name: str) -> Iterator[CodeType]:
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != name:
            continue
        members = list(vars(value).values()) if isinstance(value, type) else [value]
        for member in members:
            function = getattr(member, "__func__", member)
            function = getattr(function, "__wrapped__", function)
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                yield from _with_inner(code)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
