"""Dynamo compiles: each call of ``convert_frame._compile``, with thread, stack, code and reason.

``_compile`` and the function that explains recompiles are looked up in their module on every
call (2.2 to 2.15), so replacing the module attributes reaches wrappers made before. The region
opens while ``compile_lock`` is held. The surprise: a call that is refused at the recompile limit
comes here too, and leaves by an error that Dynamo turns into an uncompiled call.
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from fxrace.probe import settings
from fxrace.probe.executions import Executions
from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching
from fxrace.stacks import stack_of

KNOWN = "2.2 to 2.15"
AFTER = "torch._dynamo.convert_frame"
KIND = "compile"
LIMIT = 8
_EXPLAINERS = (
    "get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason",
)  # fmt: skip


def attach(watching: Watching) -> Detach:
    import torch._dynamo.convert_frame as convert
    from torch._dynamo import eval_frame

    if "_compile" not in vars(convert):
        raise Blind("torch._dynamo.convert_frame has no _compile")
    reasons, executions = threading.local(), Executions()
    entries_of = getattr(eval_frame, "_debug_get_cache_entry_list", None)
    explainers = [name for name in _EXPLAINERS if name in vars(convert)]
    return in_reverse(
        lambda: executions.tell(watching.recorder, entries_of),
        replaced(convert, "_compile", _noting(watching, convert, reasons, executions)),
        *(replaced(convert, name, _explained(vars(convert)[name], reasons)) for name in explainers),
    )


def _noting(
    watching: Watching, convert: Any, reasons: threading.local, executions: Executions
) -> Callable[..., Any]:
    original, config = convert._compile, convert.config
    size_of, regions = _argument(original, "cache_size"), watching.regions

    @wraps(original)
    def compile_(code: Any, *args: Any, **kwargs: Any) -> Any:
        reasons.last = None
        began, ok, refused = time.monotonic(), False, False
        told = _told(config, size_of((code, *args), kwargs), kwargs.get("compile_id"))
        frames = stack_of(sys._getframe(1))
        settings.look()
        try:
            with regions.region(KIND, code.co_name):
                regions.inside(KIND)
                result = original(code, *args, **kwargs)
            # A frame that Dynamo skips comes back without guarded code: not a compile.
            ok = getattr(result, "guarded_code", result) is not None
            return result
        except BaseException:
            full = told.get("entries", 0) >= told.get("limit", LIMIT)
            refused = full or bool(getattr(config, "suppress_errors", False))
            raise
        finally:
            took = round(time.monotonic() - began, 4)
            if ok or refused:
                executions.seen(code, threading.current_thread().name, compiled=ok)
            watching.recorder.emit(
                "compile", code=code.co_name, reason=reasons.last, duration_s=took, ok=ok,
                frames=frames, **told,
            )  # fmt: skip

    return compile_


def _told(config: Any, size: Any, compile_id: Any) -> dict[str, Any]:
    """What the event says of the limit: ``limit`` only where it is not torch's default."""
    told: dict[str, Any] = {}
    limit = getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", LIMIT)
    if limit != LIMIT:
        told["limit"] = limit
    if size is not None:
        told["entries"] = getattr(size, "num_cache_entries_with_same_id_matched_objs", 0)
    if compile_id is not None:
        told["id"] = str(compile_id)
    return told


def _argument(function: Any, name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Reads one argument of a call by its name; None where this torch has none so named."""
    names = list(inspect.signature(function).parameters)
    at = names.index(name) if name in names else len(names)
    return lambda args, kwargs: args[at] if at < len(args) else kwargs.get(name)


def _explained(explain: Any, reasons: threading.local) -> Callable[..., Any]:
    @wraps(explain)
    def explained(*args: Any, **kwargs: Any) -> Any:
        found = explain(*args, **kwargs)
        reasons.last = "; ".join(map(str, found)) if found else "not known to torch"
        return found

    return explained
