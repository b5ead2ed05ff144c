"""Lazy backward compiles: the first ``backward`` of a compiled function compiles its graph.

This is how a *backward* races: it compiles on whatever thread the engine runs the node on, long
after the forward was warmed up. AOTAutograd names what it compiles through
``track_graph_compiling``, and only this path says "backward", so the hook serves every backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.probe import settings
from fxrace.probe.hooks import Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "read in 2.13, where the class AOTDispatchAutograd compiles it; same name since 2.4"
AFTER = "torch._functorch._aot_autograd.runtime_wrappers"
KIND = "lazy_backward"


def attach(watching: Watching) -> Detach:
    from torch._functorch._aot_autograd import runtime_wrappers

    original: Any = getattr(runtime_wrappers, "track_graph_compiling", None)
    if original is None:
        raise Blind("torch's runtime_wrappers has no track_graph_compiling")

    @contextmanager
    def track_graph_compiling(config: Any, graph_name: Any) -> Iterator[None]:
        if graph_name != "backward":
            with original(config, graph_name):
                yield
            return
        settings.look()
        name = f"graph {getattr(config, 'aot_id', '?')}"
        with watching.regions.region(KIND, name), original(config, graph_name):
            yield

    return replaced(runtime_wrappers, "track_graph_compiling", track_graph_compiling)
