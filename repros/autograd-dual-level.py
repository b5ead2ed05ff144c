"""Forward-mode AD fails because another thread is inside its own dual level.

torch.autograd.forward_ad counts levels for the process and refuses a second one as nested.
Remedy: one lock round every dual_level block, or torch.func.jvp under one lock.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.autograd import forward_ad

HAZARD = {
    "title": "dual_level is refused as nested while another thread is in one",
    "layer": "autograd",
    "states": ("autograd.dual_level",),
    "regions": (),
    "patterns": ("exception", "overlap"),
    "racy": "RAISED",
    "remedy": "one lock round every dual_level block",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
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
    x = torch.ones(3)

    def derivative(park):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            park()
            return forward_ad.unpack_dual(dual.sin()).tangent

    one, two = during(
        lambda park: derivative(park), lambda: derivative(lambda: None), locked=guarded
    )
    assert torch.equal(one.result(BOUND_S), x.cos())
    error = two.exception(BOUND_S)
    if error is None:
        assert torch.equal(two.result(), x.cos())
        return "CLEAN", "both derivatives are right"
    if isinstance(error, RuntimeError) and "Nested forward mode AD" in str(error):
        return "RAISED", f"RuntimeError: {error}"
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
