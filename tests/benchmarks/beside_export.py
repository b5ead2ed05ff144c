"""What a warm request waits for while another thread exports, under each guard. Not part of CI.

``python -m tests.benchmarks.beside_export [EXPORTS]`` prints one JSON document: for no guard and
for ``one_owner``, ``isolated`` and ``readers_writer`` the latency in milliseconds of warm compiled
requests (median, 99th percentile, longest) alone and beside EXPORTS exports of another module,
how many requests gave another result or raised, and the median time of one export. Each runs in a
process of its own. Requests come in a closed loop from one thread.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

EXPORTS, ALONE, BOUND_S = 20, 2000, 600
GUARDS = ("", "one_owner", "isolated", "readers_writer")


def spread(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    ordered = sorted(seconds)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    figures = {"median": statistics.median(ordered), "p99": last, "max": ordered[-1]}
    return {name: round(1000 * value, 3) for name, value in figures.items()}


def measure(guard: str, exports: int) -> dict[str, Any]:
    """Serve and export in this process."""
    import torch

    from fxrace import guards

    torch.set_num_threads(1)
    if guard:
        guards.install(guard)
    served = torch.compile(torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]))
    x = torch.randn(8, 64)
    with torch.no_grad():
        expected = served(x)
    wrong: list[str] = []

    def request() -> float:
        began = time.perf_counter()
        try:
            with torch.no_grad(), guards.running():
                same = torch.equal(served(x), expected)
            if not same:
                wrong.append("another result")
        except Exception as error:
            wrong.append(type(error).__name__)
        return time.perf_counter() - began

    alone = [request() for _ in range(ALONE)]
    times: list[float] = []
    exporting = threading.Thread(target=_export, args=(exports, times))
    exporting.start()
    beside = []
    while exporting.is_alive():
        beside.append(request())
    return {
        "guard": guard, "alone_ms": spread(alone), "beside_ms": spread(beside),
        "requests": len(beside), "wrong": len(wrong), "how": sorted(set(wrong)),
        "export_ms": spread(times) if times else {},
    }  # fmt: skip


def _export(exports: int, times: list[float]) -> None:
    import torch

    for _ in range(exports):
        module = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())
        began = time.perf_counter()
        torch.export.export(module, (torch.randn(2, 16),))
        times.append(time.perf_counter() - began)


def main() -> None:
    exports = int(sys.argv[1]) if len(sys.argv) > 1 else EXPORTS
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2].strip("-"), exports)))
        return
    results = []
    for guard in GUARDS:
        command = [sys.executable, "-W", "ignore", "-m", "tests.benchmarks.beside_export"]
        done = subprocess.run(
            [*command, str(exports), f"-{guard}"],
            capture_output=True, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
        told = done.stdout.strip().splitlines()
        failed = {"guard": guard, "exit": done.returncode, "stderr": done.stderr[-500:]}
        results.append(json.loads(told[-1]) if told else failed)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
