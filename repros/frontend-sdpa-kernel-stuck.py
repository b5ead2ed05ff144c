"""Overlapping sdpa_kernel blocks leave kernels switched off for the process.

The block saves which kernels are on and puts that back. A enters, B enters, A leaves, B leaves:
flash attention stays off, so that attention materialises its scores from then on, in silence.
Remedy: one lock round every block.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HAZARD = {
    "title": "overlapping sdpa_kernel blocks leave flash attention off for good",
    "layer": "front_end",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "choose kernels once before threads start, or one lock round every block",
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
    def block(park):
        with sdpa_kernel(SDPBackend.MATH):
            park()

    assert torch.backends.cuda.flash_sdp_enabled()
    for one in crossed(block, block, locked=guarded):
        one.result(BOUND_S)
    on = torch.backends.cuda.flash_sdp_enabled()
    told = f"with no block open flash attention is {'on' if on else 'off'}"
    return ("CLEAN" if on else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
