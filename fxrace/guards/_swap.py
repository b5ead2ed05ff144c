"""Two ways to change torch in place, each undone exactly: a function's code, and an attribute.

Swapping ``__code__`` reaches whoever captured the function object before (every wrapper that
``torch.compile`` ever built) and keeps its identity, by which Dynamo knows it. The new code
finds our state among its own constants, so no name is put into torch's modules and a thread that
is inside it while the guard goes away needs nothing from us.

An attribute can be wrapped by several guards. Each wrapper asks its layer for what lies beneath,
so layers go in any order. The surprise: where somebody else has wrapped the attribute after us,
it cannot be put back; our layer then stays and only passes calls on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused

#: What a template holds where its code will hold the state.
PLACE = "<fxrace>"

_CHANGING = threading.RLock()
_SWAPPED: dict[FunctionType, CodeType] = {}
_LAYERS: dict[tuple[int, str], list[Layer]] = {}


def plain(function: Any) -> FunctionType:
    """The function below ``contextmanager`` and other wrappers, which can be given other code."""
    while not isinstance(function, FunctionType) or function.__closure__:
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            raise GuardRefused(f"{function!r} has no code of its own that could be changed")
        function = inner
    return function


def copy_of(function: FunctionType) -> FunctionType:
    """The function as it is now, unreached by later swaps."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def filled(template: Callable[..., Any], like: FunctionType, state: Any) -> CodeType:
    """The template's code with ``state`` in place, which passes for the code of ``like``.

    It keeps file, line and name of the original: TorchScript reads a function's source by them.
    """
    code, before = plain(template).__code__, like.__code__
    constants = tuple(
        state if isinstance(one, str) and one == PLACE else one for one in code.co_consts
    )
    return code.replace(
        co_consts=constants,
        co_filename=before.co_filename,
        co_firstlineno=before.co_firstlineno,
        co_name=before.co_name,
    )


def expecting(function: FunctionType, *names: str) -> FunctionType:
    """The function, if its code still speaks of these names. Raises GuardRefused."""
    code = function.__code__
    missing = set(names) - set(code.co_names) - set(code.co_varnames)
    home = function.__globals__.get("__file__", code.co_filename)
    if missing and home != code.co_filename:
        raise GuardRefused(
            f"{function.__module__}.{function.__qualname__} runs code of {code.co_filename} by now",
            remedy="install guards first, before fxrace's hooks or anything else changes torch",
        )
    if missing:
        raise GuardRefused(
            f"{function.__module__}.{function.__qualname__} is not the code this guard knows: "
            f"it does not use {', '.join(sorted(missing))}",
            remedy="fxrace doctor tells what this torch is; a newer fxrace may know it",
        )
    return function


def swapped(function: FunctionType, code: CodeType) -> Detach:
    """Give the function other code; the result gives the old code back."""
    with _CHANGING:
        if function in _SWAPPED:
            raise GuardRefused(f"{function.__qualname__} is changed by another guard already")
        _SWAPPED[function] = before = function.__code__
        function.__code__ = code

    def detach() -> None:
        with _CHANGING:
            del _SWAPPED[function]
            if function.__code__ is code:
                function.__code__ = before

    return detach


@dataclass(kw_only=True, slots=True, eq=False)
class Layer:
    """One guard's wrapper on an attribute. ``inner`` is what lies beneath it just now."""

    inner: Any
    live: bool = True
    value: Any = None


def layered(holder: Any, name: str, wrap: Callable[[Layer], Any]) -> Detach:
    """Put ``wrap(layer)`` at ``holder.name``; the result takes this layer out again.

    The attribute is read from the holder's own dictionary, so static methods come back as such.
    """
    with _CHANGING:
        layers = _LAYERS.setdefault((id(holder), name), [])
        layer = Layer(inner=vars(holder)[name])
        layer.value = wrap(layer)
        layers.append(layer)
        setattr(holder, name, layer.value)

    def detach() -> None:
        with _CHANGING:
            layer.live = False
            place = layers.index(layer)
            if place + 1 < len(layers) and layers[place + 1].inner is layer.value:
                layers[place + 1].inner = layer.inner
            elif vars(holder)[name] is layer.value:
                setattr(holder, name, layer.inner)
            layers.remove(layer)
            if not layers:
                _LAYERS.pop((id(holder), name), None)

    return detach
