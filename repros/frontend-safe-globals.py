"""torch.load refuses a class that its thread has just allowed, because another thread is done.

safe_globals allows classes for the process and takes them away at its end, whoever else has
allowed the same ones. Remedy: add_safe_globals once, before threads start.
"""

import io
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "torch.load loses an allowed class when another thread's block ends",
    "layer": "front_end",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "torch.serialization.add_safe_globals once, instead of blocks in threads",
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


class Config:
    """What a checkpoint holds beside tensors."""


def run(*, guarded):
    saved = io.BytesIO()
    torch.save(Config(), saved)

    def loading(park):
        with torch.serialization.safe_globals([Config]):
            park()
            return torch.load(io.BytesIO(saved.getvalue()), weights_only=True)

    for one in crossed(loading, loading, locked=guarded):
        error = one.exception(BOUND_S)
        if isinstance(error, pickle.UnpicklingError):
            return "RAISED", "UnpicklingError: Weights only load failed, inside safe_globals"
        assert isinstance(one.result(), Config)
    return "CLEAN", "both threads loaded"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
