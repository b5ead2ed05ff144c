"""``make_fx`` sessions: a proxy trace of tensor operations, inside Dynamo's compiles and outside.

While one runs, ``_CURRENT_MAKE_FX_TRACER`` names it for the whole process, and higher-order
operators of any thread trace their bodies into it. Subgraphs of those operators come through
``trace_subgraph`` and are part of the session that is open already.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.4 to 2.15"
KIND = "make_fx"


def attach(watching: Watching) -> Detach:
    from torch.fx.experimental import proxy_tensor

    tracer: Any = getattr(proxy_tensor, "_MakefxTracer", None)
    original: Any = getattr(tracer, "trace", None)
    if original is None:
        raise Blind("torch.fx.experimental.proxy_tensor has no _MakefxTracer.trace")

    @wraps(original)
    def trace(self: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, getattr(f, "__name__", type(f).__name__)):
            return original(self, f, *args, **kwargs)

    return replaced(tracer, "trace", trace)
