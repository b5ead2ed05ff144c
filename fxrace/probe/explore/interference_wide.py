"""Everything a module holds, read twice: finds the State that the registry does not have.

Used where A's stop disturbs B (or B's run disturbs A) and no State of the registry explains it.
Reads every attribute of torch's modules and of their classes, with the settings that live in C++
behind a getter and a setter, so that each can be put back and the run repeated without it: what
heals the run is the cause, whatever its name.

Values are kept by reference, containers by a copy of their first level. A reading takes a tenth
of a second, so it is taken in runs with a single stop only.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from fxrace.probe.explore.interference_states import put_attribute

_STANDARD = ("builtins", "math", "copyreg", "linecache", "warnings")
_SKIPPED = ("torch._inductor.runtime.compile_tasks.", "torch.ops", "torch.classes", "torch.testing")
#: Whoever formats a traceback or a warning fills it, and nothing computes with it.
_NOISE = frozenset({"linecache:cache"})
_LARGEST = 2000
_PLAIN = (bool, int, float, str, bytes, type(None))

Marks = dict[str, tuple[Any, str, Any, Any]]
"""Path -> (holder, name, value, mark); marks compare, values are put back."""


def read() -> Marks:
    """All attributes in sight, by path."""
    found: Marks = {}
    for module_name, module in list(sys.modules.items()):
        if type(module) is types.ModuleType and _watched(module_name):
            _read_module(module_name, module, found)
    for name, (get, set_) in {**SETTINGS, **_switches()}.items():
        holder = _Setting(get, set_)
        found[name] = (holder, "value", holder.value, holder.value)
    return found


def changed(before: Marks, now: Marks) -> list[str]:
    """Paths whose mark differs, sorted."""
    pairs = ((path, entry, now.get(path)) for path, entry in before.items())
    return sorted(p for p, was, found in pairs if found is not None and was[3] != found[3])


def put(paths: list[str] | tuple[str, ...], marks: Marks) -> None:
    """Give these attributes the values they have in ``marks``. What refuses is left alone."""
    for path in paths:
        holder, name, value, _ = marks[path]
        with contextlib.suppress(Exception):
            put_attribute(holder, name, value)


def _read_module(module_name: str, module: types.ModuleType, found: Marks) -> None:
    for name, value in list(vars(module).items()):
        if f"{module_name}:{name}" in _NOISE:
            continue
        if isinstance(value, type):
            if getattr(value, "__module__", None) == module_name:
                _read_class(f"{module_name}:{name}", value, found)
        elif not name.startswith("__") and not isinstance(value, types.ModuleType):
            kept, mark = _mark(value)
            found[f"{module_name}:{name}"] = (module, name, kept, mark)


def _read_class(path: str, kind: type, found: Marks) -> None:
    for name, value in list(vars(kind).items()):
        if name not in ("__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl"):
            kept, mark = _mark(value)
            found[f"{path}.{name}"] = (kind, name, kept, mark)


def _mark(value: Any) -> tuple[Any, Any]:
    """(What to put back, what tells a change)."""
    kind = type(value)
    if kind in _PLAIN:
        return value, (kind, value)
    try:
        if isinstance(value, dict) and len(value) <= _LARGEST:
            return _copied(value), (
                id(value),
                tuple((id(k), id(v)) for k, v in list(value.items())),
            )
        if kind in (list, set) and len(value) <= _LARGEST:
            return kind(value), (id(value), tuple(id(one) for one in list(value)))
    except (RuntimeError, TypeError):
        return value, object()
    return value, id(value)


def _copied(value: dict[Any, Any]) -> dict[Any, Any]:
    try:
        return value.copy()
    except Exception:
        return value


def _watched(module: str) -> bool:
    if module.startswith(_SKIPPED):
        return False
    return module in _STANDARD or module == "torch" or module.startswith("torch.")


class _Setting:
    """A setting behind a getter and a setter, in the shape of an attribute."""

    def __init__(self, get: Callable[[], Any], set_: Callable[[Any], Any]) -> None:
        self._get, self._set = get, set_

    @property
    def value(self) -> Any:
        return self._get()

    @value.setter
    def value(self, value: Any) -> None:
        self._set(value)


def _generator() -> Any:
    import torch

    return (bytes(torch.get_rng_state().tolist()),)


def _put_generator(value: Any) -> None:
    import torch

    torch.set_rng_state(torch.tensor(list(value[0]), dtype=torch.uint8))


def _put_environment(value: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(value)


def _torch(get: str, put_: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """A getter and a setter by their paths under ``torch``."""

    def resolve(path: str) -> Any:
        import torch

        found: Any = torch
        for name in path.split("."):
            found = getattr(found, name)
        return found

    return (lambda: resolve(get)()), (lambda value: resolve(put_)(value))


def _switches() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """The switches of torch's C++ side, as ``operations.observe_c_settings`` finds them."""
    import torch

    from fxrace.probe.operations.observe_c_settings import prepare

    return {
        f"torch._C:_get_{name}": (get, getattr(torch._C, f"_set_{name}"))
        for name, get in prepare().items()
    }


def _filters() -> tuple[Any, ...]:
    return tuple(warnings.filters)


def _put_filters(value: Any) -> None:
    warnings.filters[:] = list(value)  # type: ignore[index]


SETTINGS: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "torch:default_generator": (_generator, _put_generator),
    "random:getstate": (random.getstate, random.setstate),
    "warnings:filters": (_filters, _put_filters),
    "os:environ": (lambda: dict(os.environ), _put_environment),
    "sys:getrecursionlimit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "torch:get_default_dtype": _torch("get_default_dtype", "set_default_dtype"),
    "torch:is_anomaly_enabled": _torch("is_anomaly_enabled", "set_anomaly_enabled"),
    "torch.backends.cuda:flash_sdp_enabled": _torch(
        "backends.cuda.flash_sdp_enabled", "backends.cuda.enable_flash_sdp"
    ),
    "torch.backends.cuda:math_sdp_enabled": _torch(
        "backends.cuda.math_sdp_enabled", "backends.cuda.enable_math_sdp"
    ),
    "torch.backends.cuda:mem_efficient_sdp_enabled": _torch(
        "backends.cuda.mem_efficient_sdp_enabled", "backends.cuda.enable_mem_efficient_sdp"
    ),
    "torch._C:_only_lift_cpu_tensors": _torch(
        "_C._only_lift_cpu_tensors", "_C._set_only_lift_cpu_tensors"
    ),
    "torch:get_num_threads": _torch("get_num_threads", "set_num_threads"),
}
