"""Two exports at once: one fails, or takes a fake tensor for a constant.

Non-strict export puts the process's builtins, flags and hooks aside and back. A begins, B
begins, A ends, B ends: A finds B's tensors in its program. Remedy: one lock round every export.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "two threads that export fail over each other's state",
    "layer": "export",
    "states": ("compiler.is_exporting", "export.flags", "builtins.max", "builtins.min"),
    "regions": ("export",),
    "patterns": ("overlap", "race"),
    "racy": "RAISED",
    "remedy": "one lock round every export, or a process per export",
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


def run(*, guarded):
    x = torch.ones(3)

    def exporting(park):
        class Exported(torch.nn.Module):
            def forward(self, x):
                park()
                return x * torch.tensor([2.0])

        return torch.export.export(Exported(), (x,), strict=False)

    both = crossed(exporting, exporting, locked=guarded)
    errors = [error for one in both if (error := one.exception(BOUND_S)) is not None]
    if not errors:
        assert all(torch.equal(one.result().module()(x), x * 2) for one in both)
        return "CLEAN", "both programs are right"
    told = " and ".join(f"{type(error).__name__}: {error}".splitlines()[0] for error in errors)
    return "RAISED", f"{len(errors)} of 2 failed: {told[:160]}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
