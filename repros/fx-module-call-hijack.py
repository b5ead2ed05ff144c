"""A plain eager module call dies because another thread traces something else.

symbolic_trace replaces nn.Module.__call__ on the class, so every module of the process runs
through A's tracer, B's too, which A's tracer does not know. Nothing here is compiled.
Remedy: a lock that tracing holds alone and every forward shares (one plain lock will do).
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "an eager module call raises while another thread traces a different model",
    "layer": "fx",
    "states": ("nn.module_call", "nn.module_getattr"),
    "regions": (),
    "patterns": ("exception", "meeting"),
    "racy": "RAISED",
    "remedy": "tracing excludes every forward pass: a readers-writer lock, tracing the writer",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#112775", "pytorch/pytorch#187589"),
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
    inside, moved = threading.Event(), threading.Event()
    lock = Telling(moved) if guarded else nullcontext()
    other, x = torch.nn.Linear(3, 3), torch.ones(3)
    expected = other(x)

    class Traced(torch.nn.Module):
        def forward(self, x):
            inside.set()
            assert moved.wait(BOUND_S)
            return x.cos()

    def tracing():
        with lock:
            return torch.fx.symbolic_trace(Traced())

    def serving():
        assert inside.wait(BOUND_S)
        try:
            with lock:
                return other(x)
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    traced, served = pool.submit(tracing), pool.submit(serving)
    assert torch.equal(traced.result(BOUND_S)(x), x.cos())
    error = served.exception(BOUND_S)
    if error is None:
        assert torch.equal(served.result(), expected)
        return "CLEAN", "the eager module returned its result"
    if isinstance(error, NameError) and "submodule" in str(error):
        return "RAISED", f"{type(error).__name__}: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
