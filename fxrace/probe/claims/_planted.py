"""Faults and remedies that are planted, so that a control knows its answer on every torch.

``process_wide`` models what torch's tracing flag was up to 2.13: set inside a region, read by
whoever comes along. ``swapped`` models a saved and restored global such as FX's patcher.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

Work = Callable[[], Any]


def process_wide(bench: Bench) -> tuple[Work, Work]:
    """One side that sets a flag of the process while inside, and one that refuses while it is set.

    The side inside stops as a trace does.
    """
    state = {"tracing": False}

    def inside() -> None:
        state["tracing"] = True
        bench.stops.inside("trace")
        state["tracing"] = False

    def reads() -> None:
        if state["tracing"]:
            raise RuntimeError("planted: somebody is tracing")

    return inside, reads


def swapped(bench: Bench) -> tuple[Work, Work]:
    """Two sides that save a global, put their own there, and find it changed on the way out."""
    state: dict[str, object] = {"mine": None}

    def side() -> None:
        before, own = state["mine"], object()
        state["mine"] = own
        bench.stops.inside("trace")
        now, state["mine"] = state["mine"], before
        assert now is own, "planted: the global was swapped"

    return side, side
