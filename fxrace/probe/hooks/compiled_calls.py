"""Entries into compiled functions, warm or cold: the moment the tracing flag is read.

Every wrapper made by ``torch.compile`` reads the flag through one function whose *object* it
captured when it was made, so replacing the module attribute would miss wrappers made before.
The function's ``__code__`` is swapped instead, which keeps its identity. This is the one hook
on the warm path; it is attached only when a pressure listens.
"""

from __future__ import annotations

import types

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.watching import Watching

KNOWN = "is_fx_tracing in all torch, is_fx_symbolic_tracing in 2.9 to 2.15"
_NOTED, _KEPT = "_fxrace_called", "_fxrace_reader"


def wanted(watching: Watching) -> bool:
    """Only a pressure that listens is worth a hook on the warm path."""
    return watching.pressure.listens


def attach(watching: Watching) -> Detach:
    """``pressure.called()`` runs in the calling thread before the flag is read."""
    from torch.fx import _symbolic_trace as fx

    reader = getattr(fx, "is_fx_symbolic_tracing", None) or getattr(fx, "is_fx_tracing", None)
    if not isinstance(reader, types.FunctionType):
        raise Blind("torch.fx._symbolic_trace has no reader of the tracing flag")
    before = reader.__code__
    space = vars(fx)
    space[_KEPT] = types.FunctionType(before, space, reader.__name__, reader.__defaults__)
    space[_NOTED] = watching.pressure.called
    reader.__code__ = _noting.__code__

    def detach() -> None:
        reader.__code__ = before
        del space[_KEPT], space[_NOTED]

    return detach


def _noting() -> bool:
    _fxrace_called()  # type: ignore[name-defined]  # noqa: F821 - lives in the reader's module
    return _fxrace_reader()  # type: ignore[name-defined,no-any-return]  # noqa: F821
