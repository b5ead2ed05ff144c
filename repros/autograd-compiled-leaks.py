"""A backward is compiled by another thread's compiler, though its thread never asked for one.

Compiled autograd is switched on for the process. A enables it round its own backward; B's plain
backward goes through A's compiler, and pays for the compile. Remedy: one lock round both.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch._dynamo import compiled_autograd

HAZARD = {
    "title": "compiled autograd of one thread compiles another thread's backward",
    "layer": "autograd",
    "states": ("compiled_autograd.enabled",),
    "regions": (),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "one lock round every enabled block and every backward",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 10 of 10; guarded CLEAN 5 of 5",
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
    compiled_for = []

    def compiler(graph):
        compiled_for.append(threading.get_ident())
        return graph

    def enabled(park):
        with compiled_autograd._enable(compiler):
            park()
        return threading.get_ident()

    def plain():
        x = torch.ones(3, requires_grad=True)
        x.sin().sum().backward()
        return x.grad

    one, two = during(enabled, plain, locked=guarded)
    assert torch.equal(two.result(BOUND_S), torch.ones(3).cos())
    foreign = [ident for ident in compiled_for if ident != one.result(BOUND_S)]
    told = f"the compiler was called for {len(foreign)} backwards of another thread"
    return ("WRONG" if foreign else "CLEAN"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
