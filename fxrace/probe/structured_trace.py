"""Findings into torch's own structured trace, where ``TORCH_TRACE`` asks for one.

Why: whoever reads a compile with tlparse then sees beside it which threads collided. This is
the one place of the child side that concludes anything; it does so from the record alone, with
the same detectors that the parent uses.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict

from fxrace.core.program import conclude
from fxrace.records.event import Trace

NAME = "fxrace_findings"


def write_findings(trace: Callable[[], Trace]) -> None:
    """One ``artifact`` line with the findings of this process so far, if there are any."""
    if not os.environ.get("TORCH_TRACE"):
        return
    found = [asdict(finding) for finding in conclude(trace())]
    if not found:
        return
    from torch._logging import trace_structured

    trace_structured(
        "artifact",
        metadata_fn=lambda: {"name": NAME, "encoding": "json"},
        payload_fn=lambda: json.dumps(found, default=str),
    )
