"""A fake kernel gets the shapes of another thread's trace.

A custom operator's fake kernel asks the process for its context, the one of the last operator
that any thread has entered. A's new dynamic size then belongs to B's shape environment.
Remedy: one lock round every trace that runs fake kernels.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

HAZARD = {
    "title": "a fake kernel's dynamic size belongs to another thread's trace",
    "layer": "aot",
    "states": ("library.fake_context",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "one lock round all tracing and exporting of custom operators",
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


stops = threading.local()


@torch.library.custom_op("repro::nonzero", mutates_args=())
def nonzero(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@nonzero.register_fake
def _(x):
    stops.park()
    size = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty([size, 1], dtype=torch.long)


def run(*, guarded):
    def tracing(park):
        stops.park = park
        environment = ShapeEnv()
        with FakeTensorMode(shape_env=environment) as mode:
            out = torch.ops.repro.nonzero(mode.from_tensor(torch.ones(3)))
        return out.shape[0].node.shape_env is environment

    first, second = crossed(tracing, tracing, locked=guarded)
    own = first.result(BOUND_S)
    failed = second.exception(BOUND_S)
    if own and failed is None:
        assert second.result()
        return "CLEAN", "each size belongs to its own trace"
    assert isinstance(failed, (AttributeError, type(None))), failed
    told = f"A's size is of {'its own' if own else 'another'} trace; B: {failed or 'finished'}"
    return ("RAISED" if own else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
