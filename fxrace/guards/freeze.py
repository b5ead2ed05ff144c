"""After warm-up any compile is an error that names the function, its shapes, the thread and why.

Install it when everything is warm. A Dynamo compile and a lazily compiled backward both raise
``Frozen`` before anything is traced; the process stays as it was. Traces that uncompiled
flex_attention makes at run time are no compiles and go on.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, Guard, GuardRefused, attach_all
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, layered

MOST_GUARDS = 4


class Frozen(RuntimeError):
    """Something would have been compiled after the guard freeze was installed."""


def attach() -> Detach:
    """Refuse Dynamo's compiles and AOTAutograd's lazy backward compiles."""
    import torch._dynamo.convert_frame as convert
    from torch._functorch._aot_autograd import runtime_wrappers

    if "_compile" not in vars(convert) or "track_graph_compiling" not in vars(runtime_wrappers):
        raise GuardRefused("this torch compiles by functions that are not known here")
    hide_guards()
    return attach_all(
        lambda: layered(convert, "_compile", _no_compile),
        lambda: layered(runtime_wrappers, "track_graph_compiling", _no_backward),
    )


def _no_compile(layer: Layer) -> Any:
    @wraps(layer.inner)
    def compile_nothing(code: Any, globals: Any, locals: Any, *args: Any, **kwargs: Any) -> Any:
        if not layer.live:
            return layer.inner(code, globals, locals, *args, **kwargs)
        raise Frozen(_why(code, locals))

    return compile_nothing


def _no_backward(layer: Layer) -> Any:
    @wraps(layer.inner)
    def no_graph(config: Any, graph_name: Any) -> Any:
        if layer.live and graph_name == "backward":
            raise Frozen(
                f"thread {threading.current_thread().name!r} would compile the backward of graph "
                f"{getattr(config, 'aot_id', '?')}, which no warm-up has run; "
                "warm up with a backward pass, then freeze"
            )
        return layer.inner(config, graph_name)

    return no_graph


def _why(code: Any, values: dict[str, Any]) -> str:
    """One sentence: who, what, with which shapes, and the guards that did not hold."""
    shapes = ", ".join(f"{name} {_shape(value)}" for name, value in values.items() if _shape(value))
    failed = failed_guards(code, values)
    reasons = "; ".join(failed) if failed else "it was never compiled"
    return (
        f"thread {threading.current_thread().name!r} would compile {code.co_name} "
        f"({code.co_filename}:{code.co_firstlineno}) for {shapes or 'no tensors'}: {reasons}"
    )


def _shape(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')} on {value.device}"
    if isinstance(value, (tuple, list)):
        inner = [_shape(one) for one in value]
        return f"({', '.join(one for one in inner if one)})" if any(inner) else ""
    return ""


def failed_guards(code: Any, values: dict[str, Any]) -> list[str]:
    """For each graph that the function has, the guard that these values do not meet."""
    from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

    found = []
    for entry in _debug_get_cache_entry_list(code):
        try:
            verdict = entry.guard_manager.check_verbose(values)
            if verdict.result:
                continue
            parts = getattr(verdict, "verbose_code_parts", None) or ["a guard failed"]
        except Exception as error:  # the program's error must not become a defect of its guard
            parts = [f"guards cannot be read: {error}"]
        found.append(str(parts[0]).split("  #")[0].strip())
    return found[:MOST_GUARDS]


guard = Guard(
    cures=("guards-num-threads", "guards-default-device", "cuda-flex-recompile-kills-others"),
    cannot_cure=(
        "Traces at run time (uncompiled flex_attention, torch.cond with gradients) are no compiles "
        "and still meet other threads: see isolated.",
        "Compiles that bypass Dynamo (compile_fx, aot_function, export) are not refused.",
        "A function that Dynamo gave up on, or whose recompile limit is used up, runs uncompiled "
        "without any compile to refuse.",
    ),
    attach=attach,
)
