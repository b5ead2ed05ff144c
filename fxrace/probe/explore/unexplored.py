"""Before a pair is explored: can it be, in this process? If not, the ``pair`` event says why."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from fxrace.probe.operations import load

_COUNTS = ("points", "stopped", "schedules", "slips", "blocked", "differences")


def quiet() -> None:
    """One compile worker and no warnings: pools would be threads, which no fork survives."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    warnings.simplefilter("ignore")


def refusal(names: Sequence[str], device: str) -> tuple[str, str] | None:
    """``(verdict, reason)`` where one of the operations cannot be loaded or run here."""
    for name in names:
        try:
            reason = load(name).refuse(device)
        except (LookupError, ImportError) as error:
            return "inconclusive", str(error)
        if reason is not None:
            return "skipped", f"{name} {reason}"
    return None


def unexplored(
    a: str, b: str, verdict: str, reason: str, *, grain: str, strategy: str
) -> Mapping[str, Any]:
    """The data of a ``pair`` event for a pair of which nothing is known."""
    return {
        "a": a,
        "b": b,
        "grain": grain,
        "strategy": strategy,
        "preemption_bound": 0,
        "exhausted": False,
        "verdict": verdict,
        "reason": reason,
        "duration_s": 0.0,
        **dict.fromkeys(_COUNTS, 0),
    }
