"""A setting patched for one block stays for good: two threads' patches put back each other's value.

Settings are the process's and a patch puts back what it saw. A enters, B enters, A leaves, B
leaves: B puts A's value back. Here errors of the compiler stay suppressed, in silence.
Remedy: one lock round every patch.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
import torch._dynamo

HAZARD = {
    "title": "overlapping config.patch blocks leave a setting behind",
    "layer": "config",
    "states": ("dynamo.config",),
    "regions": ("config",),
    "patterns": ("config_divergence", "leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "set options once before threads start, or one lock round every patch",
    "since": "2.6",
    "fixed_in": "2.12",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#118260", "pytorch/pytorch#118390"),
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
    def body(park):
        with torch._dynamo.config.patch(suppress_errors=True):
            park()

    for one in crossed(body, body, locked=guarded):
        one.result(BOUND_S)
    left = torch._dynamo.config.suppress_errors
    return ("WRONG" if left else "CLEAN"), f"after both blocks suppress_errors is {left}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
