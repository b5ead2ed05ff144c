"""Dispatch modes (fake tensors, proxies, the user's own): a flag says that some thread is in one.

The mode stack is per thread, the flag is not: each mode saves it, sets it and puts back what it
saw. Two threads whose outermost modes overlap without nesting leave it on; up to 2.10 compiling
is then off in every thread. Dynamo's compiles enter modes under ``compile_lock``, ``make_fx`` and
the trace of a backward enter them without.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "2.5 to 2.15; read in 2.13"
KIND = "dispatch_mode"


def attach(watching: Watching) -> Detach:
    from torch.utils import _python_dispatch

    mode: Any = getattr(_python_dispatch, "TorchDispatchMode", None)
    held: dict[str, Any] = dict(vars(mode)) if isinstance(mode, type) else {}
    if not {"__enter__", "__exit__"} <= set(held):
        raise Blind("torch.utils._python_dispatch has no TorchDispatchMode that is a block")
    spans, enter, leave = Spans(watching.recorder, KIND), held["__enter__"], held["__exit__"]

    @wraps(enter)
    def noted_enter(self: Any) -> Any:
        spans.enter(type(self).__name__, above=2)
        return enter(self)

    @wraps(leave)
    def noted_leave(self: Any, *error: Any) -> Any:
        try:
            return leave(self, *error)
        finally:
            spans.leave()

    return in_reverse(
        replaced(mode, "__enter__", noted_enter), replaced(mode, "__exit__", noted_leave)
    )
