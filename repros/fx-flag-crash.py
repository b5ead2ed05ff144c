"""A compiled call dies because another thread is tracing with FX.

Thread A stands inside make_fx. Thread B calls a function that was compiled and warmed long
before. Dynamo's wrapper reads FX's tracing flag, which belongs to the process, before any lock,
and refuses. Remedy: one lock round every trace and every compiled call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.fx.experimental.proxy_tensor import make_fx

HAZARD = {
    "title": "a compiled call raises while another thread traces with FX",
    "layer": "fx",
    "states": ("fx.tracing_flag",),
    "regions": (),
    "patterns": ("exception", "meeting"),
    "racy": "RAISED",
    "remedy": "one lock round every trace and every compiled call, or finish all tracing first",
    "since": "2.6",
    "fixed_in": "2.14",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#126024", "pytorch/pytorch#168999"),
}
BOUND_S = 90
SYMPTOM = "FX to symbolically trace a dynamo-optimized function"


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
    inside, moved = threading.Event(), threading.Event()
    lock = Telling(moved) if guarded else nullcontext()
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    x = torch.ones(3)
    expected = compiled(x)

    def parked(x):
        inside.set()
        assert moved.wait(BOUND_S)
        return x.cos()

    def tracing():
        with lock:
            return make_fx(parked)(x)

    def calling():
        assert inside.wait(BOUND_S)
        try:
            with lock:
                return compiled(x)
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    traced, called = pool.submit(tracing), pool.submit(calling)
    assert torch.equal(traced.result(BOUND_S)(x), x.cos())
    error = called.exception(BOUND_S)
    if error is None:
        assert torch.equal(called.result(), expected)
        return "CLEAN", "the compiled call returned its result"
    if isinstance(error, RuntimeError) and SYMPTOM in str(error):
        return "RAISED", f"{type(error).__name__}: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
