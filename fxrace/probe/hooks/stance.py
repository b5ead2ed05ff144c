"""``torch.compiler.set_stance`` as a block: every thread's compiled calls obey it meanwhile.

With ``skip_guard_eval_unsafe`` that is a silent wrong result in a thread that never asked. The
stance is set when the object is made, a moment before the region opens. Used as a plain call it
is a lasting change and opens no region.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.6 to 2.15; read in 2.13"
AFTER = "torch._dynamo.decorators"
KIND = "stance"
_OPEN = "_fxrace_region"


def attach(watching: Watching) -> Detach:
    from torch._dynamo import decorators

    stance: Any = getattr(decorators, "set_stance", None)
    if not isinstance(stance, type) or not {"__enter__", "__exit__"} <= set(vars(stance)):
        raise Blind("torch._dynamo.decorators has no set_stance that is a block")
    held: dict[str, Any] = dict(vars(stance))
    enter, leave = held["__enter__"], held["__exit__"]

    @wraps(enter)
    def noted_enter(self: Any) -> Any:
        region = watching.regions.region(KIND, str(getattr(self.stance, "stance", self.stance)))
        region.__enter__()
        setattr(self, _OPEN, [*getattr(self, _OPEN, ()), region])
        return enter(self)

    @wraps(leave)
    def noted_leave(self: Any, *error: Any) -> Any:
        try:
            return leave(self, *error)
        finally:
            if opened := getattr(self, _OPEN, None):
                opened.pop().__exit__(None, None, None)

    return in_reverse(
        replaced(stance, "__enter__", noted_enter), replaced(stance, "__exit__", noted_leave)
    )
