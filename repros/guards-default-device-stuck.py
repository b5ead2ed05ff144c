"""Overlapping default devices leave one behind in Dynamo's guards: every thread compiles anew.

set_default_device saves a variable of the process and set_default_device(None) puts it back. A
sets, B sets, A unsets, B unsets and puts A's device back: no thread has a default any more, but
warm code no longer matches its guards. Remedy: pass device= to factories.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "overlapping default devices leave the wrong one in every guard",
    "layer": "front_end",
    "states": ("device.current",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "pass device= to factories, or one lock round set and unset",
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
    compiles, x = [], torch.ones(3)

    def backend(graph, _inputs):
        compiles.append(1)
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    f(x)

    def building(park):
        torch.set_default_device("meta")
        try:
            park()
            return torch.empty(3)
        finally:
            torch.set_default_device(None)

    for one in crossed(building, building, locked=guarded):
        assert one.result(BOUND_S).device.type == "meta"
    assert torch.empty(1).device.type == "cpu"
    assert torch.equal(f(x), x * 2)
    told = f"{len(compiles) - 1} compiles of a warm function after both blocks"
    return ("CLEAN" if len(compiles) == 1 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
