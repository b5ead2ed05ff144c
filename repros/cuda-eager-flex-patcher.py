"""Two threads that call flex_attention uncompiled: one dies of the other's FX patcher.

With gradients, uncompiled flex_attention traces with FX on every call, and no warm-up helps. Two
traces that overlap without nesting break each other. Remedy: one lock round every such call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.nn.attention.flex_attention import flex_attention

HAZARD = {
    "title": "overlapping uncompiled flex_attention calls fail over the shared patcher",
    "layer": "fx",
    "states": ("fx.patcher",),
    "regions": ("flex_eager", "hop"),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "one lock round every uncompiled flex_attention call, or compile it",
    "since": "2.6",
    "evidence": {"2.11.0": "RAISED 3 of 3; guarded CLEAN 3 of 3"},
    "device": "cuda",
}
BOUND_S = 90
DEVICE = "cuda"


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
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    flex = sys.modules["torch._higher_order_ops.flex_attention"]
    make_fx, stop = flex.make_fx, threading.local()

    def parked_make_fx(function, *arguments, **options):
        return make_fx(lambda *a: (stop.park(), function(*a))[1], *arguments, **options)

    flex.make_fx = parked_make_fx

    def training(park):
        stop.park = park
        torch.manual_seed(1)
        q = torch.randn(1, 1, 128, 64, device=DEVICE, requires_grad=True)
        flex_attention(q, q, q).sum().backward()
        return q.grad

    expected = training(lambda: None)
    both = crossed(training, training, locked=guarded)
    errors = [error for one in both if (error := one.exception(BOUND_S)) is not None]
    if not errors:
        assert all(torch.allclose(one.result(), expected) for one in both)
        return "CLEAN", "both gradients are right"
    told = [f"{type(error).__name__}: {error}".splitlines()[0][:120] for error in errors]
    return "RAISED", f"{len(errors)} of 2 threads: {told[0]}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
