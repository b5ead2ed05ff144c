"""Dynamo compiles: each call of ``convert_frame._compile``, with thread, code and reason.

``_compile`` and the function that explains recompiles are looked up in their module on every
call (2.2 to 2.15), so replacing the module attributes reaches wrappers made before. The region
opens while ``compile_lock`` is held.
"""

from __future__ import annotations

import threading
import time
from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach
from fxrace.probe.watching import Watching

KNOWN = "2.2 to 2.15"
KIND = "compile"
_EXPLAINER = "get_and_maybe_log_recompilation_reasons"


def attach(watching: Watching) -> Detach:
    import torch._dynamo.convert_frame as convert

    original = getattr(convert, "_compile", None)
    explain: Any = getattr(convert, _EXPLAINER, None)
    if original is None:
        raise Blind("torch._dynamo.convert_frame has no _compile")
    regions, recorder = watching.regions, watching.recorder
    reasons = threading.local()

    @wraps(original)
    def compile_(code: Any, *args: Any, **kwargs: Any) -> Any:
        reasons.last = None
        began, ok = time.monotonic(), False
        try:
            with regions.region(KIND, code.co_name):
                regions.inside(KIND)
                result = original(code, *args, **kwargs)
            # A frame that Dynamo skips comes back without guarded code: not a compile.
            ok = getattr(result, "guarded_code", result) is not None
            return result
        finally:
            took = round(time.monotonic() - began, 4)
            recorder.emit("compile", code=code.co_name, reason=reasons.last, duration_s=took, ok=ok)

    def explained(*args: Any, **kwargs: Any) -> Any:
        found = explain(*args, **kwargs)
        reasons.last = "; ".join(map(str, found)) if found else "not known to torch"
        return found

    convert._compile = compile_
    if explain is not None:
        setattr(convert, _EXPLAINER, wraps(explain)(explained))

    def detach() -> None:
        convert._compile = original
        if explain is not None:
            setattr(convert, _EXPLAINER, explain)

    return detach
