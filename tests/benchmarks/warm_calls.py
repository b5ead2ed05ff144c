"""How many events, and how many calls into fxrace, 300,000 warm compiled calls cost.

``python -m tests.benchmarks.warm_calls [CALLS]`` prints one JSON line: ``events`` recorded and
``hooked`` calls into fxrace's files (both must be 0; the second is counted over a hundredth of the
calls, because counting slows them), and the seconds with hooks and without, interleaved.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROUNDS = 10


def seconds(call: Callable[[], Any], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - began


def hooked(call: Callable[[], Any], calls: int, reader: Any) -> int:
    """Calls into fxrace's files. The tracing flag's own reader may carry fxrace's code."""
    seen = 0

    def profile(frame: FrameType, what: str, _: Any) -> None:
        nonlocal seen
        code = frame.f_code
        seen += what == "call" and "/fxrace/" in code.co_filename and code is not reader.__code__

    sys.setprofile(profile)
    try:
        seconds(call, calls)
    finally:
        sys.setprofile(None)
    return seen


def measure(calls: int) -> dict[str, Any]:
    import torch
    from torch.fx import _symbolic_trace as fx

    from fxrace.probe.attach import attached
    from fxrace.probe.recorder import Recorder
    from fxrace.records.trial import Trial

    compiled, x = torch.compile(lambda y: y * 3 + 1), torch.ones(4)
    compiled(x)
    times: dict[str, list[float]] = {"with": [], "without": []}
    trial = Trial(target="t:run", knobs={"pressure": "none"})
    events = fired = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        recorder = Recorder(path)
        for _ in range(ROUNDS):
            times["without"].append(seconds(lambda: compiled(x), calls // ROUNDS))
            with attached(trial, recorder):
                before = path.stat().st_size
                times["with"].append(seconds(lambda: compiled(x), calls // ROUNDS))
                fired += hooked(
                    lambda: compiled(x), calls // ROUNDS // 100, fx.is_fx_symbolic_tracing
                )
                events += path.read_bytes()[before:].count(b"\n")
        recorder.close()
    ratios = sorted(w / o for w, o in zip(times["with"], times["without"], strict=True))
    return {
        "calls": calls,
        "events": events,
        "hooked": fired,
        "seconds": {name: round(sum(each), 3) for name, each in times.items()},
        "ratio": {"median": ratios[len(ratios) // 2], "low": ratios[0], "high": ratios[-1]},
        "torch": str(torch.__version__),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)))
