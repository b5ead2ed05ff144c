"""No lock of the harness: the guard readers_writer, with every attention call declared running.

Backward stays outside of ``running()``, as on CUDA it compiles on another thread than the one
that would hold the share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fxrace import guards
from fxrace.probe.part import Part
from harness.contracts import Call, Phase
from harness.guarded import Guarded, UnderGuards

T = TypeVar("T")


class DeclaredRunning(UnderGuards):
    """Attention in forward is a reader; torch's own tracing entry points are the writer."""

    def around(self, call: Call, work: Callable[[], T]) -> T:
        if not call.compiled or call.phase is Phase.RECOMPUTE:
            return work()
        with guards.running():
            return work()


part = Part(build=Guarded("readers_writer", kind=DeclaredRunning))
