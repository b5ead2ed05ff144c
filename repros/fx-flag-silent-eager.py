"""A compiled call runs eager, in silence, because another thread is tracing with FX.

error_on_nested_fx_trace=False turns the error of fx-flag-crash into a call of the original
function. A stands inside make_fx; B's warm compiled call runs none of its compiled code.
Remedy: leave the option alone, and one lock round every trace and every compiled call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
import torch._dynamo
from torch.fx.experimental.proxy_tensor import make_fx

HAZARD = {
    "title": "a compiled call silently runs eager while another thread traces with FX",
    "layer": "fx",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "leave error_on_nested_fx_trace on; one lock round every trace and compiled call",
    "since": "2.6",
    "fixed_in": "2.14",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#179836", "pytorch/pytorch#126024"),
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
    executions, x = [], torch.ones(3)

    def backend(graph, _inputs):
        def counted(*arguments):
            executions.append(1)
            return graph(*arguments)

        return counted

    compiled = torch.compile(lambda x: x.sin() + 1, backend=backend)
    expected = compiled(x)

    def tracing(park):
        return make_fx(lambda x: (park(), x.cos())[1])(x)

    def calling():
        torch._dynamo.config.error_on_nested_fx_trace = False  # per thread from 2.12 on
        return compiled(x)

    traced, called = during(tracing, calling, locked=guarded)
    assert torch.equal(traced.result(BOUND_S)(x), x.cos())
    assert torch.equal(called.result(BOUND_S), expected)
    told = f"{len(executions) - 1} of 1 calls ran compiled beside the trace"
    return ("CLEAN" if len(executions) == 2 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
