"""Points as places that a script without fxrace can stop at: events of ``sys.setprofile``.

An entry is the call of a function; a border of a region is the call or return of the function
that the hook wraps; a write is a change of an attribute, seen at the next event. Points that no
plain event tells (a lock's acquisition) have no place.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.core.states import by_name

_FX, _PROXY = "torch.fx._symbolic_trace", "torch.fx.experimental.proxy_tensor"
_CONVERT, _AOT = "torch._dynamo.convert_frame", "torch._functorch.aot_autograd"
#: Kind of region: the function that its hook wraps.
_BORDERS: dict[str, tuple[str, str]] = {
    "trace": (_FX, "Tracer.trace"),
    "make_fx": (_PROXY, "_MakefxTracer.trace"),
    "compile": (_CONVERT, "_compile"),
    "export": ("torch.export._trace", "_export"),
    "inductor": ("torch._inductor.compile_fx", "compile_fx_inner"),
}
_INSIDE: dict[str, tuple[str, str, str]] = {
    "trace": ("return", _FX, "_new_patcher"),
    "compile": ("call", _CONVERT, "_compile"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The ``visit``-th ``event`` (call, return, write) of ``name`` in ``module``."""

    event: str
    module: str
    name: str
    visit: int = 1


def place_of(point: str) -> Place | None:
    """The place of a point, by either spelling of names; None where it has none."""
    what, _, number = point.partition("#")
    visit = int(number) if number.isdigit() else 1
    first, _, second = what.partition(":")
    if second == "write":
        state = by_name(first)
        module, _, path = (state.attribute if state else "").partition(":")
        return Place(event="write", module=module, name=path, visit=visit) if state else None
    if second in ("enter", "exit") and "." not in first:
        border = _BORDERS.get(first)
        event = "call" if second == "enter" else "return"
        return border and Place(event=event, module=border[0], name=border[1], visit=visit)
    if second == "inside":
        inside = _INSIDE.get(first)
        return inside and Place(event=inside[0], module=inside[1], name=inside[2], visit=visit)
    if "." not in first or not second or second in ("acquire", "release"):
        return None
    return Place(event="call", module=_module(first), name=second, visit=visit)


def _module(spelling: str) -> str:
    """``torch/fx/graph.py`` and ``torch.fx.graph`` are the same module."""
    path = spelling.removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".") if spelling.endswith(".py") else spelling
