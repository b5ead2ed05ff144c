"""CUDA-graph trees: recording a graph and the warm-up run before it, both into a private pool.

Replays, which are the warm path, are not watched. Importing the module fills the importing
thread's own containers, which before 2.13 is a hazard of its own (a worker that imports it first);
so the import is left to the program.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Absent, Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.1 to 2.15; read in 2.13"
AFTER = "torch._inductor.cudagraph_trees"
KIND = "cudagraph"
_METHODS = ("record_function", "run_eager")


def attach(watching: Watching) -> Detach:
    import torch

    if not torch.backends.cuda.is_built():
        raise Absent("this torch is built without CUDA")
    from torch._inductor import cudagraph_trees

    manager: Any = getattr(cudagraph_trees, "CUDAGraphTreeManager", None)
    if manager is None or not set(_METHODS) <= set(vars(manager)):
        raise Blind("torch's CUDAGraphTreeManager has no record_function or run_eager")
    return in_reverse(*(_wrap(watching, manager, name) for name in _METHODS))


def _wrap(watching: Watching, manager: Any, name: str) -> Detach:
    original = getattr(manager, name)

    @wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, name):
            return original(self, *args, **kwargs)

    return replaced(manager, name, method)
