"""The shape environment that fake kernels of custom operators ask for, set round each of them.

One global function answers "which context am I in" for all threads: with two fake kernels at
once, the one that started first gets the shape environment of the other one's trace.
"""

from __future__ import annotations

from fxrace.probe.hooks import Detach
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.4 to 2.15"
KIND = "fake"


def attach(watching: Watching) -> Detach:
    from torch._library import fake_impl

    return watched_block(Spans(watching.recorder, KIND), fake_impl, "set_ctx_getter")
