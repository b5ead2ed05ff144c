"""torch.func.jvp returns a tangent of zero, because another thread is inside a jvp too.

The depth of nesting is counted for the process. B's outermost jvp is taken for an inner one, so
its dual level ends with A's: the derivative is 0, and nothing is raised.
Remedy: one lock round every jvp (also jacfwd, hessian, linearize).
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "jvp silently returns a zero tangent while another thread is in a jvp",
    "layer": "functorch",
    "states": ("functorch.jvp_nesting", "autograd.dual_level"),
    "regions": (),
    "patterns": ("overlap", "race"),
    "racy": "WRONG",
    "remedy": "one lock round every torch.func.jvp, jacfwd and hessian",
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
    x = torch.ones(3)

    def derivative(park):
        return torch.func.jvp(lambda x: (park(), x.sin())[1], (x,), (x,))[1]

    one, two = (t.result(BOUND_S) for t in crossed(derivative, derivative, locked=guarded))
    told = f"tangents {one[0]:.4f} and {two[0]:.4f}, both should be {x.cos()[0]:.4f}"
    right = torch.equal(one, x.cos()) and torch.equal(two, x.cos())
    return ("CLEAN" if right else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
