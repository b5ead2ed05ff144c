"""Threads that wait for one compile do it all over again, one after the other.

Dynamo looks into a function's cache before it asks for compile_lock, and not again once it has
it. Four threads, one cold function, equal inputs: four compiles. Remedy: one thread calls it
first, or a double-checked lock round first calls.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "a function is compiled once per waiting thread for equal inputs",
    "layer": "dynamo",
    "states": ("dynamo.cache_entries",),
    "regions": (),
    "patterns": ("duplicate_compile",),
    "racy": "WRONG",
    "remedy": "warm up each function in one thread, or a double-checked lock round first calls",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#123177", "pytorch/pytorch#105943"),
    "silent": True,
}
BOUND_S = 90
THREADS = 4


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
    compiles, arrived, first, x = [], threading.Semaphore(0), threading.Lock(), torch.ones(3)

    def backend(graph, _inputs):
        if not compiles:
            for _ in range(THREADS):
                assert guarded or arrived.acquire(timeout=BOUND_S)
        compiles.append(1)
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    convert_frame.compile_lock = Arriving(convert_frame.compile_lock, arrived)

    def calling():
        if guarded and not compiles:
            with first:
                return f(x)
        return f(x)

    calls = [ThreadPoolExecutor(1).submit(calling) for _ in range(THREADS)]
    assert all(torch.equal(call.result(BOUND_S), x * 2) for call in calls)
    told = f"{len(compiles)} compiles for {THREADS} equal calls"
    return ("CLEAN" if len(compiles) == 1 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
