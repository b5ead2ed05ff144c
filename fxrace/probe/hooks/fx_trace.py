"""FX traces: every ``Tracer.trace``, whichever subclass or entry point it was reached from.

The point *inside* is after ``_new_patcher`` made its patcher, where the tracing flag, the
patcher and (a moment later) ``nn.Module.__call__`` are all this thread's. ``make_fx``,
``symbolic_trace``, AOTAutograd and the higher-order operators all come through here; source:
``torch/fx/_symbolic_trace.py`` of 2.5 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.watching import Watching

KNOWN = "Tracer.trace in all torch, _new_patcher in 2.5 to 2.15"
KIND = "trace"


def attach(watching: Watching) -> Detach:
    regions = watching.regions
    from torch.fx import _symbolic_trace as fx

    original_trace = fx.Tracer.trace
    original_patcher: Any = getattr(fx, "_new_patcher", None)
    if original_patcher is None:
        raise Blind("torch.fx._symbolic_trace has no _new_patcher (torch before 2.5)")

    @wraps(original_trace)
    def trace(self: Any, root: Any, *args: Any, **kwargs: Any) -> Any:
        with regions.region(KIND, getattr(root, "__name__", type(root).__name__)):
            return original_trace(self, root, *args, **kwargs)

    # ``wraps`` above ``contextmanager``: whoever looks for torch's own code (a guard) finds it.
    @wraps(original_patcher)
    @contextmanager
    def new_patcher() -> Iterator[Any]:
        with original_patcher() as patcher:
            regions.inside(KIND)
            yield patcher

    fx.Tracer.trace = trace
    fx._new_patcher = new_patcher

    def detach() -> None:
        fx._new_patcher = original_patcher
        fx.Tracer.trace = original_trace

    return detach
