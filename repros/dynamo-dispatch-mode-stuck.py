"""Dispatch modes that overlap in two threads leave the process thinking it is inside one, for good.

Modes are per thread, the variable that says so is the process's. A enters, B enters and saves
True, A leaves, B leaves and puts True back. Up to 2.10 Dynamo then compiles nothing any more.
Remedy: one lock round every dispatch mode (make_fx, fake tensors, flop counters, compiles).
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

HAZARD = {
    "title": "overlapping dispatch modes leave is_in_torch_dispatch_mode() True for the process",
    "layer": "dynamo",
    "states": ("dispatch.in_mode", "dispatch.in_non_infra_mode"),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "one lock round every dispatch mode and every compile, or the guard one_owner",
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


class Watching(TorchDispatchMode):
    """As a counter of FLOPs or a logger would be."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def crossed(body, *, locked):
    """One enters, two enters, one leaves, two leaves; locked keeps the two apart."""
    entered, moved, left = (threading.Event() for _ in range(3))
    lock = Telling(moved) if locked else nullcontext()

    def meet(arrived, awaited):
        arrived.set()
        assert awaited.wait(BOUND_S)

    def one():
        try:
            with lock:
                return body(lambda: meet(entered, moved))
        finally:
            left.set()

    def two():
        assert entered.wait(BOUND_S)
        try:
            with lock:
                return body(lambda: meet(moved, left))
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(one), pool.submit(two)


def run(*, guarded):
    def body(park):
        with Watching():
            park()

    for one in crossed(body, locked=guarded):
        one.result(BOUND_S)
    stuck = _python_dispatch.is_in_torch_dispatch_mode()
    compiles = []

    def backend(graph, _inputs):
        compiles.append(1)
        return graph.forward

    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    told = f"no mode is active anywhere, is_in_torch_dispatch_mode() says {stuck}, and a new "
    told += f"function was compiled {len(compiles)} times"
    return ("WRONG" if stuck or not compiles else "CLEAN"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
