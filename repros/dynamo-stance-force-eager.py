"""Two overlapping set_stance("force_eager") blocks end all compiled execution, in silence.

The stance belongs to the process and a block puts back what it saw. A enters, B enters, A
leaves, B leaves and puts A's stance back: nothing runs compiled any more, without a word.
Remedy: one lock round every stance and every compiled call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "overlapping stances leave the process in force_eager: nothing runs compiled",
    "layer": "dynamo",
    "states": ("dynamo.stance",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "set the stance once, before threads start; else one lock round block and calls",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#196637",),
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


def run(*, guarded):
    backend, x = Counted(), torch.ones(3)
    f = torch.compile(lambda x: x * 2, backend=backend)
    f(x)

    def debugging(park):
        with torch.compiler.set_stance("force_eager"):
            park()
            return f(x)

    for one in crossed(debugging, debugging, locked=guarded):
        assert torch.equal(one.result(BOUND_S), x * 2)
    before = backend.runs
    for _ in range(5):
        assert torch.equal(f(x), x * 2)
    ran = backend.runs - before
    return ("CLEAN" if ran == 5 else "WRONG"), f"{ran} of 5 calls ran compiled after both blocks"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
