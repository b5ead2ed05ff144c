"""``make_fx``'s own state, per thread: which one a subgraph is traced into, and its decompositions.

The higher-order operators import the variable from its module on every use, so the module's class
gets a property of that name; a module variable cannot be made to answer otherwise. Nothing on a
compiled call's path looks into that module.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all
from fxrace.guards._swap import expecting, filled, layered, plain, swapped
from fxrace.guards._thread_state import Inside

NAME, TABLE = "_CURRENT_MAKE_FX_TRACER", "CURRENT_DECOMPOSITION_TABLE"


class _Mine(threading.local):
    tracer: Any = None


class _Table(threading.local):
    table: Mapping[Any, Any] = {}


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


class Decompositions(Mapping[Any, Any]):
    """The table of the calling thread's ``make_fx`` (a module variable up to 2.6 at least)."""

    def __init__(self, inside: Inside) -> None:
        self._mine, self._inside = _Table(), inside

    def __getitem__(self, operator: Any) -> Any:
        return self._mine.table[operator]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mine.table)

    def __len__(self) -> int:
        return len(self._mine.table)

    @contextmanager
    def put(self, table: Any) -> Iterator[Any]:
        with self._inside:
            before, self._mine.table = self._mine.table, table or {}
            try:
                yield self._mine.table
            finally:
                self._mine.table = before


def _decompose(decomposition_table: Any) -> Any:
    with "<fxrace>".put(decomposition_table) as table:  # type: ignore[attr-defined]
        yield table


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
    steps = [
        lambda: _property(module, tracers),
        lambda: swapped(function, filled(_set, function, tracers)),
    ]
    if isinstance(vars(module).get(TABLE), Mapping):  # 2.12 keeps a ContextVar there
        tables = Decompositions(inside)
        decompose = expecting(plain(module.decompose), TABLE)
        steps.append(lambda: layered(module, TABLE, lambda _: tables))
        steps.append(lambda: swapped(decompose, filled(_decompose, decompose, tables)))
    return attach_all(*steps)


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
