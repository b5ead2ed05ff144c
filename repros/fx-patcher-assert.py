"""Two FX traces that overlap without nesting: one dies of the other's patcher.

A enters, B enters, A leaves, B leaves. Each saves the process's patcher and puts back what it
saved; A's end takes the patcher from under B. Remedy: one lock round every trace.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "overlapping FX traces fail an assertion over the shared patcher",
    "layer": "fx",
    "states": ("fx.patcher",),
    "regions": (),
    "patterns": ("exception", "meeting"),
    "racy": "RAISED",
    "remedy": "one lock round every trace",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#189884", "pytorch/pytorch#187589"),
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


def run(*, guarded):
    a_inside, b_moved, a_gone = (threading.Event() for _ in range(3))
    lock = Telling(b_moved) if guarded else nullcontext()

    def first(x):
        a_inside.set()
        assert b_moved.wait(BOUND_S)
        return x.cos()

    def second(x):
        b_moved.set()
        assert a_gone.wait(BOUND_S)
        return x.sin()

    def a():
        try:
            with lock:
                return torch.fx.symbolic_trace(first)
        finally:
            a_gone.set()

    def b():
        assert a_inside.wait(BOUND_S)
        with lock:
            return torch.fx.symbolic_trace(second)

    pool = ThreadPoolExecutor(2)
    traces = [pool.submit(a), pool.submit(b)]
    errors = [error for error in (t.exception(BOUND_S) for t in traces) if error is not None]
    if not errors:
        x = torch.ones(3)
        assert torch.equal(traces[0].result()(x), x.cos())
        assert torch.equal(traces[1].result()(x), x.sin())
        return "CLEAN", "both traces ended and are right"
    if isinstance(errors[0], AssertionError) and "torch/fx/" in origin(errors[0]):
        return "RAISED", f"{type(errors[0]).__name__}: {errors[0]}".splitlines()[0]
    raise errors[0]


def origin(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
