"""Non-strict tracing: a flag, ``autograd.grad`` and the engine's entry, exchanged for all threads.

They are set and put back round one ``make_fx`` session, one after the other, and the flag is on
for the longest; a second thread's session inside it puts back what the first had set.
"""

from __future__ import annotations

from fxrace.probe.hooks import Absent, Detach
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.12 to 2.15; read in 2.13"
KIND = "non_strict"


def attach(watching: Watching) -> Detach:
    from torch import compiler

    if "_is_non_strict_tracing_flag" not in vars(compiler):
        raise Absent("this torch has no non-strict tracing flag")
    return watched_block(Spans(watching.recorder, KIND), compiler, "_non_strict_tracing_context")
