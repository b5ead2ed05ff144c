"""FX's tracing flag and patcher, per thread.

``Tracer.trace`` saves, sets and restores the flag in a module variable, and ``_new_patcher`` the
patcher in another; both are undone in the order of entering, which two threads do not keep. Here
each thread has its own of both. The surprise: a trace still writes the module variable, harmlessly:
it reads True and puts True back, as ours is set before it begins and counted again after it ends.
From torch 2.14 the flag is per thread already; the patcher is not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all
from fxrace.guards._patches import Ground, patcher_class
from fxrace.guards._swap import Layer, copy_of, expecting, filled, layered, plain, swapped
from fxrace.guards._thread_state import Inside, ThreadFlag

FLAG, UNREAD = "_is_fx_tracing_flag", "_fxrace_unread_flag"


class _Current(threading.local):
    patcher: Any = None


class Patchers:
    """``CURRENT_PATCHER``, one for each thread."""

    def __init__(self, fx: Any, ground: Ground, inside: Inside) -> None:
        self._make, self._inside = patcher_class(fx, ground), inside
        self._current = _Current()

    @contextmanager
    def new(self) -> Iterator[Any]:
        with self._inside:
            before, mine = self._current.patcher, self._make()
            self._current.patcher = mine
            try:
                yield mine
            finally:
                mine.revert_all_patches()
                self._current.patcher = before

    @contextmanager
    def reverted(self) -> Iterator[None]:
        """Without this thread's patches, as Dynamo wants it while it compiles."""
        mine = self._current.patcher
        if mine is None:
            yield
            return
        with self._inside:
            mine.revert_all_patches()
            try:
                yield
            finally:
                mine.reapply_all_patches()


def _new() -> Any:
    with "<fxrace>".new() as patcher:  # type: ignore[attr-defined]
        yield patcher


def _reverted() -> Any:
    with "<fxrace>".reverted():  # type: ignore[attr-defined]
        yield


def _read() -> Any:
    return _is_fx_tracing_flag and "<fxrace>".here()  # type: ignore[name-defined, attr-defined]  # noqa: F821


def _read_with_warning() -> Any:
    is_fx_tracing_warning()  # type: ignore[name-defined]  # noqa: F821
    return _is_fx_tracing_flag and "<fxrace>".here()  # type: ignore[name-defined, attr-defined]  # noqa: F821


def _read_symbolic() -> Any:
    return (
        _is_fx_tracing_flag  # type: ignore[name-defined]  # noqa: F821
        and not torch.compiler.is_compiling()  # type: ignore[name-defined]  # noqa: F821
        and "<fxrace>".here()  # type: ignore[attr-defined]
    )


def attach_patcher(inside: Inside) -> Detach:
    """Per-thread patchers, and ``nn.Module`` patched for the tracing thread alone."""
    import torch
    from torch.fx import _symbolic_trace as fx

    if not hasattr(fx, "_new_patcher"):
        raise GuardRefused("torch.fx has no _new_patcher", remedy="torch 2.5 or newer is needed")
    if fx.CURRENT_PATCHER is not None:
        raise GuardRefused(
            "an FX trace is running, or an earlier one was left over",
            remedy="install the guard before anything is traced",
        )
    ground = Ground(torch.nn.Module)
    patchers = Patchers(fx, ground, inside)
    new = expecting(plain(fx._new_patcher), "CURRENT_PATCHER", "_Patcher")
    reverted = expecting(plain(fx._maybe_revert_all_patches), "CURRENT_PATCHER")
    return attach_all(
        *ground.originals(fx),
        lambda: swapped(new, filled(_new, new, patchers)),
        lambda: swapped(reverted, filled(_reverted, reverted, patchers)),
    )


def attach_flag(inside: Inside) -> Detach:
    """The flag: its readers, every trace, and the writer in the higher-order operators."""
    from torch.fx import _symbolic_trace as fx

    space = vars(fx)
    if FLAG not in space:
        if hasattr(fx, "_is_fx_tracing_tls"):  # 2.14: per thread already
            return layered(fx.Tracer, "trace", lambda layer: _counted(layer, inside, None))
        raise GuardRefused("torch.fx has neither of the two tracing flags known")
    if space[FLAG]:
        raise GuardRefused(
            "the FX tracing flag is up: a trace is running, or an earlier one left it",
            remedy="install the guard before anything is traced",
        )
    flag = ThreadFlag(space, FLAG)
    return attach_all(
        lambda: _unread(space, flag),
        *_readers(fx, flag),
        lambda: _attach_environment(flag),
        lambda: layered(fx.Tracer, "trace", lambda layer: _counted(layer, inside, flag)),
    )


def _unread(space: dict[str, Any], flag: ThreadFlag) -> Detach:
    space[UNREAD] = False

    def detach() -> None:
        flag.live = False
        space[FLAG] = False
        del space[UNREAD]

    return detach


def _readers(fx: Any, flag: ThreadFlag) -> Iterator[Callable[[], Detach]]:
    reader = expecting(plain(fx.is_fx_tracing), FLAG)
    warned = "is_fx_tracing_warning" in reader.__code__.co_names
    yield flag.read_by(reader, _read_with_warning if warned else _read)
    if hasattr(fx, "is_fx_symbolic_tracing"):
        yield flag.read_by(expecting(plain(fx.is_fx_symbolic_tracing), FLAG), _read_symbolic)


def _counted(layer: Layer, inside: Inside, flag: ThreadFlag | None) -> Any:
    @wraps(layer.inner)
    def trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not layer.live:
            return layer.inner(self, *args, **kwargs)
        with inside:
            if flag is None:
                return layer.inner(self, *args, **kwargs)
            with flag.put(True):
                return layer.inner(self, *args, **kwargs)

    return trace


class _Environment:
    """``_set_compilation_env`` with the flag down for this thread only.

    Its own writes go to a variable that nobody reads.
    """

    def __init__(self, rest: Any, flag: ThreadFlag) -> None:
        self._rest, self._flag = contextmanager(rest), flag

    @contextmanager
    def entered(self) -> Iterator[None]:
        with self._flag.put(False), self._rest():
            yield


def _environment() -> Any:
    with "<fxrace>".entered():  # type: ignore[attr-defined]
        yield


def _attach_environment(flag: ThreadFlag) -> Detach:
    import torch._higher_order_ops.utils as utils

    function = expecting(plain(utils._set_compilation_env), FLAG)
    rest = copy_of(function)
    renamed = tuple(UNREAD if name == FLAG else name for name in rest.__code__.co_names)
    rest.__code__ = rest.__code__.replace(co_names=renamed)
    return swapped(function, filled(_environment, function, _Environment(rest, flag)))
