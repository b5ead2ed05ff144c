"""A layer computes with stale weights, because another thread caches parametrizations.

parametrize.cached() is a counter of the process: while A is in it, B's parametrized weight is
computed once and then kept, also over B's optimizer step.
Remedy: one lock round the block and every step.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.nn.utils import parametrize

HAZARD = {
    "title": "a parametrized weight is stale under another thread's cached() block",
    "layer": "front_end",
    "states": ("parametrize.cache",),
    "regions": (),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "no cached() block beside other threads that train, or one lock round both",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
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


class Doubled(torch.nn.Module):
    def forward(self, weight):
        return weight * 2


def run(*, guarded):
    layer = torch.nn.Linear(2, 2, bias=False)
    parametrize.register_parametrization(layer, "weight", Doubled())

    def serving(park):
        with parametrize.cached():
            park()

    def training():
        before = layer.weight.detach().clone()
        with torch.no_grad():
            layer.parametrizations.weight.original.add_(1)
        return before, layer.weight.detach().clone()

    served, trained = during(serving, training, locked=guarded)
    served.result(BOUND_S)
    before, after = trained.result(BOUND_S)
    if torch.equal(before, after):
        return "WRONG", "after a step of +1 the weight is what it was"
    assert torch.equal(after, layer.weight)
    return "CLEAN", "the weight follows the step"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
