"""Threads that meet a cold function together use up its recompile limit; it runs eager for good.

Dynamo looks into the cache before compile_lock and not again once it has it, so each waiting
thread compiles the same thing and takes one of eight entries. A new shape is then never
compiled and nothing says so. Remedy: one thread makes the first call before the others start.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "equal first calls of many threads use up the recompile limit: silent eager",
    "layer": "dynamo",
    "states": ("dynamo.cache_entries",),
    "regions": (),
    "patterns": ("recompile_limit",),
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
THREADS = 12


class Counting:
    """compile_lock as it is, letting the first holder go on once all others wait for it."""

    def __init__(self, lock, arrived):
        self.lock, self.arrived = lock, arrived

    def __enter__(self):
        self.arrived.release()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def run(*, guarded):
    compiles, executions, arrived = [], [], threading.Semaphore(0)

    def backend(graph, _inputs):
        if not compiles and not guarded:
            for _ in range(THREADS):
                assert arrived.acquire(timeout=BOUND_S)
        compiles.append(1)

        def counted(*arguments):
            executions.append(1)
            return graph(*arguments)

        return counted

    f = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)
    x, fresh = torch.ones(3), torch.ones(5)
    if guarded:
        f(x)
    convert_frame.compile_lock = Counting(convert_frame.compile_lock, arrived)
    calls = [ThreadPoolExecutor(1).submit(f, x) for _ in range(THREADS)]
    assert all(torch.equal(call.result(BOUND_S), x * 2) for call in calls)
    before = len(executions)
    assert torch.equal(f(fresh), fresh * 2)
    told = f"{len(compiles)} compiles; the new shape ran "
    if len(executions) == before:
        return "WRONG", told + "uncompiled, without a word"
    return "CLEAN", told + "compiled"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
