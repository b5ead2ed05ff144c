"""Two overlapping exports leave torch's max() and min(), and is_compiling(), for good.

Non-strict export replaces builtins.max and min (2.9 and later) and puts back what it saw. A begins,
B begins, A ends, B ends and puts A's stand-ins back, for every thread and for good. is_compiling()
stays True as well, in older versions too. Remedy: one lock round every export.
"""

import builtins
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "overlapping exports leave is_compiling() or builtins.max changed for the process",
    "layer": "export",
    "states": ("builtins.max", "builtins.min", "compiler.is_compiling", "compiler.is_exporting"),
    "regions": (),
    "patterns": ("leak",),
    "racy": "WRONG",
    "remedy": "one lock round every export, or a process per export",
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
    x, before = torch.ones(3), builtins.max

    def exporting(park):
        class Exported(torch.nn.Module):
            def forward(self, x):
                park()
                return x * 2

        return torch.export.export(Exported(), (x,), strict=False)

    for one in crossed(exporting, exporting, locked=guarded):
        one.exception(BOUND_S)  # which of them fails is export-two-exports' business
    compiling = torch.compiler.is_compiling()
    told = f"builtins.max is a {type(builtins.max).__name__}, is_compiling() is {compiling}"
    right = builtins.max is before and not compiling
    return ("CLEAN" if right else "WRONG"), f"with no export running {told}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
