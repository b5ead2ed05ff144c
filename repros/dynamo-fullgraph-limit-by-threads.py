"""Threads that share a cold function raise, though each of them calls it with the same input.

Each thread that waits for compile_lock compiles again and takes one of eight entries of the
function's cache; with fullgraph=True the ninth raises. Remedy: one thread calls it first.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "equal first calls of many threads fail with FailOnRecompileLimitHit",
    "layer": "guards",
    "states": ("dynamo.cache_entries",),
    "regions": (),
    "patterns": ("exception",),
    "racy": "RAISED",
    "remedy": "warm up each function in one thread, or a double-checked lock round first calls",
    "since": "2.13",
    "evidence": {
        "2.6.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#123177",),
}
BOUND_S = 90
THREADS = 12


class Arriving:
    """compile_lock, counting who asks for it."""

    def __init__(self, lock, arrived):
        self.lock, self.arrived = lock, arrived

    def __enter__(self):
        self.arrived.release()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def run(*, guarded):
    compiles, arrived, x = [], threading.Semaphore(0), torch.ones(3)

    def backend(graph, _inputs):
        if not compiles:
            for _ in range(THREADS):
                assert guarded or arrived.acquire(timeout=BOUND_S)
        compiles.append(1)
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend, fullgraph=True)
    if guarded:
        f(x)
    convert_frame.compile_lock = Arriving(convert_frame.compile_lock, arrived)
    calls = [ThreadPoolExecutor(1).submit(f, x) for _ in range(THREADS)]
    errors = [e for call in calls if (e := call.exception(BOUND_S)) is not None]
    if not errors:
        assert all(torch.equal(call.result(), x * 2) for call in calls)
        return "CLEAN", f"all {THREADS} calls returned, {len(compiles)} compiles"
    if type(errors[0]).__name__ != "FailOnRecompileLimitHit":
        raise errors[0]
    return "RAISED", f"FailOnRecompileLimitHit in {len(errors)} of {THREADS} equal calls"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
