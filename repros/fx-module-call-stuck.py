"""Two overlapping FX traces leave every module of the process broken for good.

A enters, B enters, A leaves, B leaves: B puts A's dead tracer back into nn.Module.__call__.
From then on an eager module call raises, in every thread, until the process ends.
Remedy: one lock round every trace.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "after two overlapping traces every eager module call in the process raises",
    "layer": "fx",
    "states": ("nn.module_call", "nn.module_getattr", "fx.patcher"),
    "regions": (),
    "patterns": ("leak",),
    "racy": "RAISED",
    "remedy": "one lock round every trace; nothing but a restart heals the process",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#187589",),
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
    layer, x = torch.nn.Linear(3, 3), torch.ones(3)
    expected = layer(x)
    traces = crossed(
        lambda park: torch.fx.symbolic_trace(lambda x: (park(), x.cos())[1]),
        lambda park: torch.fx.symbolic_trace(lambda x: (park(), x.sin())[1]),
        locked=guarded,
    )
    failed = [type(e).__name__ for t in traces if (e := t.exception(BOUND_S)) is not None]
    assert set(failed) <= {"AssertionError"}, failed
    try:
        assert torch.equal(layer(x), expected)
    except NameError as error:
        return "RAISED", f"with no trace running: NameError: {error}"
    assert not failed, failed
    return "CLEAN", "modules work after both traces"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
