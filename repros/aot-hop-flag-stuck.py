"""An eager higher-order operator leaves the FX flag on: no compiled function runs any more.

Eager cond and flex_attention clear the process's tracing flag and put back what they saw. When
another thread traced at the beginning and has ended since, what they put back is True, for good.
Remedy: one lock round every trace and every eager higher-order operator.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import torch
import torch._higher_order_ops.utils
from torch.fx.experimental.proxy_tensor import make_fx

HAZARD = {
    "title": "an eager cond or flex_attention restores another thread's tracing flag",
    "layer": "aot",
    "states": ("fx.tracing_flag",),
    "regions": ("hop", "flex_eager"),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "one lock round every trace and every eager higher-order operator",
    "since": "2.6",
    "fixed_in": "2.14",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
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
    x, compiled = torch.ones(3), torch.compile(lambda x: x + 1, backend="eager")
    compiled(x)
    torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))  # imports what cond needs

    def tracing(park):
        return make_fx(lambda x: (park(), x.sin())[1])(x)

    def eager(park):
        modules = torch._higher_order_ops.utils, sys.modules["torch._higher_order_ops.cond"]
        entered = modules[0]._set_compilation_env

        @contextmanager
        def parked():  # as cond enters it, with a stop inside
            with entered():
                park()
                yield

        for module in modules:  # either of them has the name, by version
            if hasattr(module, "_set_compilation_env"):
                module._set_compilation_env = parked
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    traced, called = crossed(tracing, eager, locked=guarded)
    assert traced.result(BOUND_S) and torch.equal(called.result(BOUND_S), x.sin())
    try:
        assert torch.equal(compiled(x), x + 1)
    except RuntimeError as error:
        if "FX to symbolically trace" in str(error):
            return "RAISED", f"with no trace running: {error}".splitlines()[0]
        raise
    return "CLEAN", "compiled calls work after both"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
