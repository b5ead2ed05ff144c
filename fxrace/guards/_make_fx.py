"""``_CURRENT_MAKE_FX_TRACER``, per thread: which ``make_fx`` a subgraph is traced into.

The higher-order operators import the variable from its module on every use, so the module's class
gets a property of that name; a module variable cannot be made to answer otherwise. Nothing on a
compiled call's path looks into that module.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all
from fxrace.guards._swap import expecting, filled, plain, swapped
from fxrace.guards._thread_state import Inside

NAME = "_CURRENT_MAKE_FX_TRACER"


class _Mine(threading.local):
    tracer: Any = None


class Tracers:
    """The innermost ``make_fx`` of each thread."""

    def __init__(self, inside: Inside) -> None:
        self._mine, self._inside = _Mine(), inside

    def here(self) -> Any:
        return self._mine.tracer

    @contextmanager
    def set(self, tracer: Any) -> Iterator[None]:
        with self._inside:
            before, self._mine.tracer = self._mine.tracer, tracer
            try:
                yield
            finally:
                self._mine.tracer = before


def _set(tracer: Any) -> Any:
    with "<fxrace>".set(tracer):  # type: ignore[attr-defined]
        yield


def attach_make_fx(inside: Inside) -> Detach:
    """Per-thread tracers. Raises GuardRefused where torch keeps them elsewhere."""
    from torch.fx.experimental import proxy_tensor as module

    if NAME not in vars(module):
        raise GuardRefused(f"torch.fx.experimental.proxy_tensor has no {NAME}")
    tracers = Tracers(inside)
    function = expecting(plain(module._set_make_fx_tracer), NAME)
    return attach_all(
        lambda: _property(module, tracers),
        lambda: swapped(function, filled(_set, function, tracers)),
    )


def _property(module: Any, tracers: Tracers) -> Detach:
    kept = module.__class__
    module.__class__ = type(
        kept.__name__,
        (kept,),
        {NAME: property(lambda _: tracers.here()), "__slots__": (), "__module__": kept.__module__},
    )

    def detach() -> None:
        module.__class__ = kept

    return detach
