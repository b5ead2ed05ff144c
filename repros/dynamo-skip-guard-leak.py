"""A compiled function returns a wrong number, because another thread switched its guards off.

skip_guard_eval_unsafe belongs to the process. While A holds it for its own warm loop, B calls
another function with an argument it was not compiled for and gets the code for the old one.
Remedy: no such stance in a process where another thread calls anything compiled.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "guards are off in a thread that never asked: silently wrong numbers",
    "layer": "dynamo",
    "states": ("dynamo.stance",),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "no skip_guard_eval_unsafe beside other threads, or one lock round block and calls",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#196637", "pytorch/pytorch#195355"),
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
    f = torch.compile(lambda x, k: x * k, backend="eager", dynamic=False)
    one = torch.ones(1)
    assert f(one, 2).item() == 2.0

    def fast(park):
        with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
            park()

    stance, called = during(fast, lambda: f(one, 7).item(), locked=guarded)
    stance.result(BOUND_S)
    got = called.result(BOUND_S)
    return ("CLEAN" if got == 7.0 else "WRONG"), f"1 times 7 gave {got}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
