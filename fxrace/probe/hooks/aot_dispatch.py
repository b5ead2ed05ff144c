"""AOTAutograd's dispatch: functionalisation, joint graph, partition, of one graph.

It swaps process-wide things (graph names, fake modes, the engine's entry) and is reached through
Dynamo, where ``compile_lock`` is held, and directly (``aot_function``, export), where it is not.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "aot_stage1_graph_capture in 2.9 to 2.15, create_aot_dispatcher_function in 2.6 to 2.8"
AFTER = "torch._functorch.aot_autograd"
KIND = "aot"
_STAGES = ("create_aot_dispatcher_function", "create_aot_state", "aot_stage1_graph_capture")


def attach(watching: Watching) -> Detach:
    from torch._functorch import aot_autograd

    stages = [name for name in _STAGES if name in vars(aot_autograd)]
    if not {"create_aot_dispatcher_function", "aot_stage1_graph_capture"} & set(stages):
        raise Blind("torch._functorch.aot_autograd has none of the stages known to fxrace")
    return in_reverse(*(_wrap(watching, aot_autograd, name) for name in stages))


def _wrap(watching: Watching, module: Any, name: str) -> Detach:
    original = getattr(module, name)

    @wraps(original)
    def stage(*args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, name):
            return original(*args, **kwargs)

    return replaced(module, name, stage)
