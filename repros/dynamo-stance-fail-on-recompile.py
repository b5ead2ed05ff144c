"""A first compiled call raises, because another thread holds set_stance("fail_on_recompile").

The stance belongs to the process. A server thread freezes compiling for itself once it is warm;
a thread that is still warming up dies. Remedy: one lock round the block and all first calls.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "a first call raises under the fail_on_recompile of another thread",
    "layer": "guards",
    "states": ("dynamo.stance",),
    "regions": (),
    "patterns": ("interference",),
    "racy": "RAISED",
    "remedy": "set the stance once every thread is warm; else one lock round block and first calls",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#196637",),
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


def during(stay, act, *, locked):
    """Runs act in one thread while another stands in stay; locked keeps the two apart."""
    inside, moved = threading.Event(), threading.Event()
    lock = Telling(moved) if locked else nullcontext()

    def park():
        inside.set()
        assert moved.wait(BOUND_S)

    def first():
        with lock:
            return stay(park)

    def second():
        assert inside.wait(BOUND_S)
        try:
            with lock:
                return act()
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(first), pool.submit(second)


def run(*, guarded):
    x, y = torch.ones(3), torch.ones(3, dtype=torch.float64)
    f = torch.compile(lambda x: x * 2, backend="eager")
    f(x)

    def frozen(park):
        with torch.compiler.set_stance("fail_on_recompile"):
            park()
            return f(x)

    served, warmed = during(frozen, lambda: f(y), locked=guarded)
    assert torch.equal(served.result(BOUND_S), x * 2)
    error = warmed.exception(BOUND_S)
    if error is None:
        assert torch.equal(warmed.result(), y * 2)
        return "CLEAN", "the call with a new dtype was compiled"
    if isinstance(error, RuntimeError) and "fail_on_recompile" in str(error):
        return "RAISED", f"RuntimeError: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
