"""``_force_skip_lazy_graph_module``: which class every thread's graph modules get meanwhile."""

from __future__ import annotations

from fxrace.probe.hooks import Detach
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.3 to 2.15"
KIND = "skip_lazy"


def attach(watching: Watching) -> Detach:
    from torch.fx import _lazy_graph_module

    spans = Spans(watching.recorder, KIND)
    return watched_block(spans, _lazy_graph_module, "_force_skip_lazy_graph_module")
