"""What a guard costs a warm compiled call: bytecode instructions, and time in interleaved pairs.

``python -m tests.benchmarks.guard_cost [PAIRS] [CALLS]`` prints one JSON document: for each guard
``extra_instructions`` per warm call (traced with opcode events, exact) and ``ratio`` of the time
with it to the time without, the median of PAIRS pairs with a 95 % interval by order statistics.
Times on a shared machine are noise; the instructions are not.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

PAIRS, CALLS = 60, 2000


def instructions(call: Callable[[], Any]) -> int:
    """Bytecode instructions of Python that one call executes, in this thread."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count


def seconds(call: Callable[[], Any], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - began


def interval(values: list[float]) -> dict[str, float]:
    """The median, and the order statistics that hold it with 95 % whatever the distribution."""
    ordered, n = sorted(values), len(values)
    reach = 1.96 * math.sqrt(n) / 2
    low, high = max(0, int(n / 2 - reach)), min(n - 1, math.ceil(n / 2 + reach))
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return {"median": middle, "low": ordered[low], "high": ordered[high]}


def measure(name: str, call: Callable[[], Any], pairs: int, calls: int) -> dict[str, Any]:
    from fxrace import guards

    try:
        with guards.install(name) as handle:
            call()
            counted, reason = instructions(call), handle.reasons.get(name, "")
    except guards.GuardRefused as error:
        return {"guard": name, "refused": error.message}
    plain, ratios = instructions(call), []
    for number in range(pairs):
        times = {}
        for guarded in (True, False) if number % 2 else (False, True):
            if guarded:
                with guards.install(name):
                    call()
                    times[guarded] = seconds(call, calls)
            else:
                call()
                times[guarded] = seconds(call, calls)
        ratios.append(times[True] / times[False])
    return {
        "guard": name, "unneeded": reason, "instructions": plain,
        "extra_instructions": counted - plain, "pairs": pairs, "ratio": interval(ratios),
    }  # fmt: skip


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else CALLS
    import torch

    from fxrace import guards

    compiled, x = torch.compile(lambda y: y * 3 + 1, backend="eager"), torch.ones(4)
    compiled(x)
    results = [measure(name, lambda: compiled(x), pairs, calls) for name in guards.available()]
    print(json.dumps({"torch": torch.__version__, "guards": results}, indent=1))


if __name__ == "__main__":
    main()
