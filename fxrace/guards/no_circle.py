"""Autograd called under Dynamo's lock runs on the calling thread, so no circle with device threads.

A thread that compiles flex_attention calls ``autograd.grad`` while it holds ``compile_lock`` and
waits for the device's autograd thread. That one may be inside another thread's backward, whose
lazy compile waits for ``compile_lock``: nobody moves again, and no lock tool sees why.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, Guard, GuardRefused, attach_all
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, layered

ENTRY = "_engine_run_backward"


def attach() -> Detach:
    """Hook the two places the engine is called through."""
    import torch
    import torch._dynamo.convert_frame as convert
    from torch.autograd import graph

    holders = [module for module in (graph, torch.autograd) if ENTRY in vars(module)]
    if not holders or not hasattr(convert.compile_lock, "_is_owned"):
        raise GuardRefused(f"torch.autograd has no {ENTRY}, or compile_lock is no lock we know")
    hide_guards()
    return attach_all(
        *(lambda h=h: layered(h, ENTRY, lambda layer: _at_home(layer, convert)) for h in holders)
    )


def _at_home(layer: Layer, convert: Any) -> Any:
    from torch.autograd import set_multithreading_enabled

    @wraps(layer.inner)
    def run(*args: Any, **kwargs: Any) -> Any:
        if layer.live and convert.compile_lock._is_owned():
            with set_multithreading_enabled(False):
                return layer.inner(*args, **kwargs)
        return layer.inner(*args, **kwargs)

    return run


guard = Guard(
    cures=("cuda-compile-lock-device-thread",),
    cannot_cure=(
        "A lock of the program's own that is held across backward() closes the same circle.",
        "A compile that waits for a thread which itself must compile: see one_owner.",
    ),
    attach=attach,
)
