"""Inductor's hooks on intermediate values: a list that every thread's generated code walks."""

from __future__ import annotations

from fxrace.probe.hooks import Detach
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.1 to 2.15"
KIND = "intermediate_hooks"
AFTER = "torch._inductor.hooks"


def attach(watching: Watching) -> Detach:
    from torch._inductor import hooks

    return watched_block(Spans(watching.recorder, KIND), hooks, "intermediate_hook")
