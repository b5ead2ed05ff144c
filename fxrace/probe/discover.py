"""Finds States that the registry lacks: what torch's modules hold before, inside, after a region.

Every attribute of a module or class under ``PACKAGES`` that is no function, module or class is
read at three moments of each operation. One that differs inside and is back afterwards is saved
and restored, which is the shape of an interleaving hazard; one that differs afterwards lasts.
Each operation runs once before, because a first run imports and fills caches that are no State.

Call it in a process that is thrown away: it compiles, exports and leaves torch warm. Attributes
of modules that nobody imported, and values changed in place deeper than their first level, are
out of its sight.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

PACKAGES = (
    "torch.fx",
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch._higher_order_ops",
    "torch.compiler",
    "torch.nn.modules.module",
    "torch.export",
    "torch.utils",
    "torch.autograd",
    "torch._subclasses",
    "torch._library",
)
#: Modules that Inductor generated, one per kernel: new ones each time, and no State.
_GENERATED = "torch._inductor.runtime.compile_tasks."
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
_DESCRIBING = (property, classmethod, staticmethod)
_PATCHED_CLASSES = frozenset({"torch.nn.modules.module:Module"})
_PLAIN = (bool, int, float, str, bytes, type(None), tuple, frozenset)

Look = Callable[[], None]
Seen = Mapping[str, Any]


def discover() -> list[dict[str, Any]]:
    """``{attribute, keeping, operations}`` of everything that changed, sorted by attribute."""
    found: dict[str, dict[str, Any]] = {}
    for name, operation in OPERATIONS.items():
        operation(lambda: None)
        for attribute, keeping in changed_by(operation):
            entry = found.setdefault(attribute, {"keeping": keeping, "operations": []})
            entry["operations"].append(name)
            if keeping == "restored":
                entry["keeping"] = keeping
    return [{"attribute": name, **found[name]} for name in sorted(found)]


def changed_by(operation: Callable[[Look], None]) -> Iterator[tuple[str, str]]:
    """(attribute, ``restored`` or ``lasting``) of what one run of the operation changes."""
    before, inside = read_all(), list[Seen]()
    operation(lambda: inside.append(read_all()))
    after = read_all()
    for name, value in before.items():
        if name in after and after[name] != value:
            yield name, "lasting"
        elif any(name in seen and seen[name] != value for seen in inside):
            yield name, "restored"


def read_all() -> dict[str, Any]:
    """What every watched attribute is now, in a form that tells a change: ``module:path``."""
    values: dict[str, Any] = {}
    for module_name, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and _watched(module_name):
            for name, value in list(vars(module).items()):
                if isinstance(value, type):
                    if getattr(value, "__module__", None) == module_name:
                        _read_class(f"{module_name}:{name}", value, values)
                elif not name.startswith("__") and not isinstance(value, _CODE):
                    values[f"{module_name}:{name}"] = _mark(value)
    return values


def _read_class(path: str, kind: type, values: dict[str, Any]) -> None:
    """Class attributes; of a class that tracing patches, its methods too."""
    patched = path in _PATCHED_CLASSES
    for name, value in list(vars(kind).items()):
        code = isinstance(value, (*_CODE, *_DESCRIBING))
        hidden = name.startswith("__") and not (patched and name in ("__call__", "__getattr__"))
        if not hidden and (patched or not code):
            values[f"{path}.{name}"] = _mark(value)


def _mark(value: Any) -> Any:
    """Plain values as they are, containers by what they hold, everything else by identity."""
    try:
        if type(value) in (dict, list, set) or isinstance(value, dict):
            held = value.items() if isinstance(value, dict) else ((x, None) for x in value)
            return (id(value), tuple((id(one), id(other)) for one, other in list(held)))
    except RuntimeError:  # it changes as it is read, which says enough
        return object()
    return (type(value), value) if type(value) in _PLAIN and _short(value) else id(value)


def _short(value: Any) -> bool:
    """Comparable at no cost. A tuple may hold a tensor, which does not compare to one answer."""
    return not isinstance(value, (tuple, frozenset)) or not value


def _watched(module: str) -> bool:
    if module.startswith(_GENERATED):
        return False
    return any(module == name or module.startswith(f"{name}.") for name in PACKAGES)


def _symbolic_trace(look: Look) -> None:
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            look()
            return x + 1

    torch.fx.symbolic_trace(Module())


def _make_fx(look: Look) -> None:
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x: Any) -> Any:
        look()
        return x + 1

    make_fx(function)(torch.ones(2))


def _compile(look: Look) -> None:
    import torch
    from torch._inductor import compile_fx

    def backend(module: Any, inputs: Any) -> Any:
        look()
        return compile_fx.compile_fx(module, inputs)

    torch._dynamo.reset()
    x = torch.ones(3, requires_grad=True)
    torch.compile(lambda y: (y.sin() * 3).sum(), backend=backend)(x).backward()


def _flex_eager(look: Look) -> None:
    """Looks where its inner compile begins, which is inside the operator's environment."""
    import torch
    from torch._dynamo import convert_frame as convert
    from torch.nn.attention.flex_attention import flex_attention

    original = convert._compile

    @wraps(original)
    def compile_(*args: Any, **kwargs: Any) -> Any:
        look()
        return original(*args, **kwargs)

    torch._dynamo.reset()
    convert._compile = compile_
    try:
        q = torch.ones(1, 1, 16, 16)
        flex_attention(q, q, q)
    finally:
        convert._compile = original


def _export(look: Look) -> None:
    import torch
    import torch.export

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            look()
            return x.relu()

    torch.export.export(Module(), (torch.ones(2),), strict=False)


OPERATIONS: Mapping[str, Callable[[Look], None]] = {
    "symbolic_trace": _symbolic_trace,
    "make_fx": _make_fx,
    "compile": _compile,
    "flex_eager": _flex_eager,
    "export": _export,
}
