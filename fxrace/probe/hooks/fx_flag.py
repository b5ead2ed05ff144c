"""A compiled call that meets another thread's FX trace: both stacks, at that very moment.

Every wrapper of ``torch.compile`` reads the tracing flag first and refuses to run (or silently
runs uncompiled) while it is True. By the time that error has reached anybody who looks, the
tracing thread has moved on, so the meeting is recorded where the flag is read. The readers'
``__code__`` is swapped, which keeps their identity, for code that reads the flag itself and
calls us only when it is True: a warm call costs nothing. From 2.14 the flag is per thread.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

from fxrace.probe.hooks import Absent, Blind, Detach
from fxrace.probe.watching import Watching
from fxrace.stacks import stack_of

KNOWN = "the process-wide flag of 2.6 to 2.13; from 2.14 there is nothing to see"
STATE, KIND = "fx.tracing_flag", "trace"
_FLAG, _KEPT = "_is_fx_tracing_flag", "_fxrace_flag_is_up"


def attach(watching: Watching) -> Detach:
    from torch.fx import _symbolic_trace as fx

    space = vars(fx)
    if _FLAG not in space:
        if hasattr(fx, "_is_fx_tracing_tls"):
            raise Absent("the tracing flag is per thread")
        raise Blind("torch.fx._symbolic_trace has neither of the two tracing flags known")
    name = "is_fx_symbolic_tracing" if "is_fx_symbolic_tracing" in space else "is_fx_tracing"
    reader = space.get(name)
    if not isinstance(reader, types.FunctionType):
        raise Blind("torch.fx._symbolic_trace has no reader of the tracing flag")
    before = reader.__code__
    original = types.FunctionType(before, space, name, reader.__defaults__)
    space[_KEPT] = lambda: _noted(original(), watching)
    reader.__code__ = _reading.__code__

    def detach() -> None:
        reader.__code__ = before
        del space[_KEPT]

    return detach


def _noted(flag: Any, watching: Watching) -> Any:
    """Pass the flag on; record the meeting if a compiled call of another thread reads it."""
    reader = sys._getframe(2)
    frame = reader.f_back
    while frame is not None and frame.f_globals is reader.f_globals:
        frame = frame.f_back
    if not flag or frame is None or not _of_a_compiled_call(frame) or watching.regions.is_in(KIND):
        return flag
    beside = watching.regions.open_beside(threading.get_ident())
    others = [other for other in beside if other["region"] == KIND]
    if others:
        watching.recorder.emit("met", state=STATE, frames=stack_of(frame), others=others)
    return flag


def _of_a_compiled_call(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.replace("\\", "/").endswith("_dynamo/eval_frame.py")


def _reading() -> Any:
    return _is_fx_tracing_flag and _fxrace_flag_is_up()  # type: ignore[name-defined]  # noqa: F821
