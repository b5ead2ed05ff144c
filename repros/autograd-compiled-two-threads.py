"""Two backwards with compiled autograd at once: the second is refused as if it were nested.

Compiled autograd holds a lock of the process while it compiles, and takes a held lock for a
call within a call. Two trainer threads are enough. Remedy: one lock round every such backward.
"""

import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch._dynamo import compiled_autograd

HAZARD = {
    "title": "a backward is refused because another thread's compiled backward runs",
    "layer": "autograd",
    "states": ("compiled_autograd.region",),
    "regions": (),
    "patterns": ("exception", "meeting"),
    "racy": "RAISED",
    "remedy": "one lock round every backward that uses compiled autograd",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#135298",),
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
    def backward(compiler):
        x = torch.ones(3, requires_grad=True)
        with compiled_autograd._enable(compiler):
            x.sin().sum().backward()
        return x.grad

    def parked(park):
        return backward(lambda graph: (park(), graph)[1])

    one, two = during(parked, lambda: backward(lambda graph: graph), locked=guarded)
    expected = torch.ones(3).cos()
    for called in (one, two):
        error = called.exception(BOUND_S)
        if isinstance(error, RuntimeError) and re.search("compiled autograd|try_lock", str(error)):
            return "RAISED", f"{type(error).__name__}: {error}".splitlines()[0]
        assert torch.equal(called.result(), expected)
    return "CLEAN", "both gradients are right"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
