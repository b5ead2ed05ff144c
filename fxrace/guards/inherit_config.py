"""Threads see the torch configuration of the thread that started them, or that gave them work.

From 2.12 a value set in one thread is a default again in every other one: a worker's
``recompile_limit`` is 8 although main set 64, and on autograd's device threads too. Here a thread
starts with its starter's values, work of a ThreadPoolExecutor runs with its submitter's, and a
recompute or compile on a device thread with those of the caller of ``backward``.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, Guard, GuardRefused, attach_all
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, layered

MODULES = ("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config")
_KEY = "context"  # where torch itself leaves the caller's context for its device threads

Values = dict[Any, Any]


def attach() -> Detach:
    """Hook the start of threads, the submission of work, recompute and compile."""
    import torch
    import torch._dynamo.convert_frame as convert
    from torch.utils import checkpoint

    config = _Config()
    known = ("CheckpointFunction", "_CheckpointFrame")
    if not all(name in vars(checkpoint) for name in known):
        raise GuardRefused("torch.utils.checkpoint has no CheckpointFunction or _CheckpointFrame")
    hide_guards()
    pool, function = concurrent.futures.ThreadPoolExecutor, checkpoint.CheckpointFunction

    def on_device(layer: Layer) -> Any:
        return _as_caller(layer, layer.inner, config, torch._C)

    return attach_all(
        lambda: layered(threading.Thread, "start", lambda layer: _starting(layer, config)),
        lambda: layered(pool, "submit", lambda layer: _submitting(layer, config)),
        lambda: layered(function, "backward", lambda la: _static(la, config, torch._C)),
        lambda: layered(
            checkpoint._CheckpointFrame, "__init__", lambda la: _frame(la, config, torch._C)
        ),
        lambda: layered(convert.CatchErrorsWrapper, "__call__", on_device),
    )


class _Config:
    """The overrides of torch's configuration modules, as context variables."""

    def __init__(self) -> None:
        import importlib

        modules: list[Any] = [importlib.import_module(name) for name in MODULES]
        self._modules = modules
        self._variables = [
            entry.user_override for module in modules for entry in module._config.values()
        ]
        if not all(isinstance(one, contextvars.ContextVar) for one in self._variables):
            raise GuardRefused("torch's configuration keeps no values per thread as known here")

    def taken(self, read: Callable[[Any, Any], Any] | None = None) -> Values:
        """What is overridden in this thread, or in a context given by its reader."""
        missing = object()
        read = read or (lambda variable, default: variable.get(default))
        found = {variable: read(variable, missing) for variable in self._variables}
        return {
            variable: value
            for variable, value in found.items()
            if value is not missing and not _unset(value)
        }

    def put(self, values: Values) -> None:
        for variable, value in values.items():
            variable.set(value)
        self._forget()

    @contextmanager
    def applied(self, values: Values) -> Iterator[None]:
        """These values for the length of the block; then what was there before."""
        tokens = [(variable, variable.set(value)) for variable, value in values.items()]
        self._forget()
        try:
            yield
        finally:
            for variable, token in reversed(tokens):
                variable.reset(token)
            self._forget()

    def _forget(self) -> None:
        """The hashes and dictionaries that torch remembers of this thread's values are stale."""
        for module in self._modules:
            if hasattr(module, "_hash_dirty_var"):  # 2.13; 2.12 has one hash for the process
                module._hash_dirty_var.set(True)
            else:
                module._is_dirty = True
            if hasattr(module, "_get_dict_dirty_keys_var"):
                module._get_dict_dirty_keys_var.set(None)


def _unset(value: Any) -> bool:
    from torch.utils import _config_module

    return value is _config_module._UNSET_SENTINEL


def _starting(layer: Layer, config: _Config) -> Any:
    @wraps(layer.inner)
    def start(self: threading.Thread) -> None:
        values = config.taken() if layer.live else {}
        if values and not self.ident:
            run = self.run

            def with_values() -> None:
                vars(self).pop("run", None)
                config.put(values)
                run()

            self.run = with_values  # type: ignore[method-assign]
        try:
            layer.inner(self)
        except BaseException:
            vars(self).pop("run", None)
            raise

    return start


def _submitting(layer: Layer, config: _Config) -> Any:
    @wraps(layer.inner)
    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        values = config.taken() if layer.live else {}
        if not values:
            return layer.inner(self, fn, *args, **kwargs)

        def with_values(*args: Any, **kwargs: Any) -> Any:
            with config.applied(values):
                return fn(*args, **kwargs)

        return layer.inner(self, with_values, *args, **kwargs)

    return submit


def _as_caller(layer: Layer, inner: Callable[..., Any], config: _Config, torch_c: Any) -> Any:
    """``inner`` with the configuration of the thread that called ``backward``, if another did."""

    @wraps(inner)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not layer.live or _started_by_python() or not torch_c._is_key_in_tls(_KEY):
            return inner(*args, **kwargs)
        context = torch_c._get_obj_in_tls(_KEY)
        if context is None:  # how 2.12 leaves it behind
            return inner(*args, **kwargs)
        with config.applied(config.taken(context.get)):
            return inner(*args, **kwargs)

    return call


def _started_by_python() -> bool:
    """False on a thread of the engine, also where ``current_thread`` gave it a dummy."""
    known = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
    return known is not None and not isinstance(known, threading._DummyThread)


def _static(layer: Layer, config: _Config, torch_c: Any) -> Any:
    inner = layer.inner.__func__ if isinstance(layer.inner, staticmethod) else layer.inner
    return staticmethod(_as_caller(layer, inner, config, torch_c))


def _frame(layer: Layer, config: _Config, torch_c: Any) -> Any:
    @wraps(layer.inner)
    def init(self: Any, recompute_fn: Any, *args: Any, **kwargs: Any) -> None:
        layer.inner(self, _as_caller(layer, recompute_fn, config, torch_c), *args, **kwargs)

    return init


guard = Guard(
    cures=("dynamo-config-not-inherited",),
    cannot_cure=(
        "A value that main sets later does not reach threads that run already.",
        "Threads that Python did not start (a server's own in C++) have no starter to ask.",
        "Hooks and custom Functions of the program on a device thread see defaults until they "
        "compile or recompute something.",
    ),
    since="2.12",
    attach=attach,
)
