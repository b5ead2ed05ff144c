"""torch.compile returns the plain function, because another thread is exporting.

torch.compile is ignored inside an export, and whether one runs is a variable of the process. A
function that B wraps meanwhile stays eager for good; there is one warning, in B.
Remedy: wrap everything before anything exports, or one lock round both.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "torch.compile is a no-op while another thread exports",
    "layer": "export",
    "states": ("compiler.is_exporting",),
    "regions": ("export",),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "call torch.compile before any export starts, or under one lock with exports",
    "since": "2.12",
    "evidence": {
        "2.6.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "silent": True,
}
BOUND_S = 90


class Telling:
    """A lock that says when somebody has to wait for it."""

    def __init__(self, moved):
        self.lock, self.moved = threading.Lock(), moved

    def __enter__(self):
        if not self.lock.acquire(blocking=False):
            self.moved.set()
            assert self.lock.acquire(timeout=BOUND_S)

    def __exit__(self, *error):
        self.lock.release()


def during(stay, act, *, locked):
    """Runs act in one thread while another stands in stay; locked keeps the two apart."""
    inside, moved = threading.Event(), threading.Event()
    lock = Telling(moved) if locked else nullcontext()

    def park():
        inside.set()
        assert moved.wait(BOUND_S)

    def first():
        with lock:
            return stay(park)

    def second():
        assert inside.wait(BOUND_S)
        try:
            with lock:
                return act()
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(first), pool.submit(second)


def run(*, guarded):
    runs, x = [], torch.ones(3)

    def backend(graph, _inputs):
        return lambda *arguments: (runs.append(1), graph(*arguments))[1]

    def exporting(park):
        class Exported(torch.nn.Module):
            def forward(self, x):
                park()
                return x * 2

        return torch.export.export(Exported(), (x,), strict=False)

    exported, wrapped = during(
        exporting, lambda: torch.compile(lambda x: x + 1, backend=backend), locked=guarded
    )
    assert torch.equal(exported.result(BOUND_S).module()(x), x * 2)
    assert torch.equal(wrapped.result(BOUND_S)(x), x + 1)
    return ("CLEAN" if runs else "WRONG"), f"{len(runs)} of 1 calls ran compiled after the export"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
