"""Higher-order operators called eagerly: they clear the tracing flag and compile with ``eager``.

``cond``, ``while_loop``, ``scan`` and the rest set up their environment through one context
manager that other modules imported by name, so its ``__code__`` is swapped, which reaches them
all (``flex_attention`` too, see ``flex_eager``).
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.watching import Watching

KNOWN = "_set_compilation_env in 2.3 to 2.13; read in 2.13"
KIND = "hop"
_ENTERED, _KEPT = "_fxrace_hop", "_fxrace_set_compilation_env"


def attach(watching: Watching) -> Detach:
    from torch._higher_order_ops import utils

    manager: Any = getattr(utils, "_set_compilation_env", None)
    inner = getattr(manager, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or inner.__code__.co_freevars:
        raise Blind("torch._higher_order_ops.utils has no plain _set_compilation_env")
    return _swapped(watching, inner, vars(utils))


def _swapped(watching: Watching, inner: types.FunctionType, space: dict[str, Any]) -> Detach:
    before = inner.__code__
    space[_KEPT] = types.FunctionType(before, space, inner.__name__, inner.__defaults__)
    space[_ENTERED] = lambda: watching.regions.region(KIND, "_set_compilation_env")
    inner.__code__ = _noting.__code__

    def detach() -> None:
        inner.__code__ = before
        # A block that is still open holds its names itself; only later entries look them up.
        del space[_KEPT], space[_ENTERED]

    return detach


def _noting() -> Iterator[None]:
    with _fxrace_hop():  # type: ignore[name-defined]  # noqa: F821 - lives in torch's module
        yield from _fxrace_set_compilation_env()  # type: ignore[name-defined]  # noqa: F821
