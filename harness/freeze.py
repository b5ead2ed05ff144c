"""After warm-up: no more compiling, in the whole process, or an error says so.

The stance is process-wide, which is what is wanted here. Two things escape it: backward graphs,
which compile outside of Dynamo, and uncompiled flex_attention, whose traces happen at run time
(its inner compile is found warm, so a warmed-up trial runs on, tracing on every call).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from fxrace.probe.recorder import Recorder
from harness.config import Plan
from harness.contracts import Attention, Tracing

EVERY_CALL = "freeze stops compiles, not this attention's traces: it traces at run time, every call"


@contextmanager
def frozen(plan: Plan, attentions: Sequence[Attention], recorder: Recorder) -> Iterator[None]:
    """``fail_on_recompile`` for the length of the block when the plan asks for it."""
    if not plan.freeze:
        yield
        return
    if any(getattr(part, "tracing", None) is Tracing.EVERY_CALL for part in attentions):
        recorder.emit("note", text=EVERY_CALL)
    torch.compiler.set_stance("fail_on_recompile")
    try:
        yield
    finally:
        torch.compiler.set_stance("default")
