"""Overlapping set_checkpoint_early_stop blocks make every later recompute run to its end.

The block sets a variable of the process and puts back what it saw. A enters, B enters, A leaves,
B leaves: early stop stays off, and each recompute does work (and side effects) it should not.
Remedy: one lock round every block, or early_stop= per call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

HAZARD = {
    "title": "early stop of recomputation stays off after overlapping blocks",
    "layer": "checkpoint",
    "states": ("checkpoint.early_stop",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "set it once for the process, or one lock round every block",
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


def crossed(first, second, *, locked):
    """One enters, two enters, one leaves, two leaves; locked keeps the two apart."""
    entered, moved, left = (threading.Event() for _ in range(3))
    lock = Telling(moved) if locked else nullcontext()

    def meet(arrived, awaited):
        arrived.set()
        assert awaited.wait(BOUND_S)

    def one():
        try:
            with lock:
                return first(lambda: meet(entered, moved))
        finally:
            left.set()

    def two():
        assert entered.wait(BOUND_S)
        try:
            with lock:
                return second(lambda: meet(moved, left))
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(one), pool.submit(two)


def run(*, guarded):
    def block(park):
        with set_checkpoint_early_stop(False):
            park()

    for one in crossed(block, block, locked=guarded):
        one.result(BOUND_S)
    calls = []

    def work(x):
        y = x.sin().cos()
        calls.append("last line")  # nothing after cos is needed in backward
        return y

    x = torch.ones(3, requires_grad=True)
    checkpoint(work, x, use_reentrant=False).sum().backward()
    told = f"the last line ran {len(calls)} times, with early stop it runs once"
    return ("CLEAN" if len(calls) == 1 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
