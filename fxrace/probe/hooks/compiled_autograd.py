"""Compiled autograd, switched on or off round a block: for every thread's backward.

Torch switches it on itself round compiled calls where ``config.compiled_autograd`` asks for it,
and off round each compiled backward, so these are spans: no line for a warm one. The flag
``in_compiled_autograd_region`` is set inside code that each compile makes anew and has no place
to be watched; it is on while ``_disable`` is.
"""

from __future__ import annotations

from fxrace.probe.hooks import Detach, in_reverse
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.6 to 2.15; read in 2.13"
KIND = "compiled_autograd"
AFTER = "torch._dynamo.compiled_autograd"


def attach(watching: Watching) -> Detach:
    from torch._dynamo import compiled_autograd

    spans = Spans(watching.recorder, KIND)
    names = ("_enable", "_disable")
    return in_reverse(*(watched_block(spans, compiled_autograd, name) for name in names))
