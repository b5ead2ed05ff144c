"""A dispatch mode in one thread turns compiling off in another, for that function for good.

Whether any dispatch mode is active is a variable of the process, though modes are per thread.
B's first call meets A's mode and is skipped, and so is every later call, in silence.
Remedy: no dispatch mode beside first calls.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode

HAZARD = {
    "title": "another thread's dispatch mode makes a function run eager for good",
    "layer": "dynamo",
    "states": ("dispatch.in_mode",),
    "regions": (),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "one lock round every dispatch mode (make_fx, fake tensors) and every first call",
    "since": "2.6",
    "fixed_in": "2.11",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
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


class Counted:
    """A backend that counts its compiles and the runs of what it compiled."""

    def __init__(self):
        self.compiles, self.runs = 0, 0

    def __call__(self, graph, _inputs):
        self.compiles += 1

        def counted(*arguments):
            self.runs += 1
            return graph(*arguments)

        return counted


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        return function(*arguments, **(keywords or {}))


def run(*, guarded):
    backend, x = Counted(), torch.ones(3)
    f = torch.compile(lambda x: x * 2, backend=backend)

    def tracing(park):
        with Passing():
            park()

    mode, first = during(tracing, lambda: f(x), locked=guarded)
    mode.result(BOUND_S)
    assert torch.equal(first.result(BOUND_S), x * 2)
    assert torch.equal(f(x), x * 2)
    return ("CLEAN" if backend.runs == 2 else "WRONG"), f"{backend.runs} of 2 calls ran compiled"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
