"""Attention raises "No available kernel", because another thread chose kernels for a block.

torch.nn.attention.sdpa_kernel switches kernels on and off for the process. A wants flash; B's
attention, which flash cannot do, has no kernel left and dies.
Remedy: one lock round the block and every attention call.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

HAZARD = {
    "title": "attention finds no kernel under the sdpa_kernel block of another thread",
    "layer": "front_end",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "choose kernels once before threads start, or one lock round block and attention",
    "since": "2.6",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
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
    q = torch.ones(1, 1, 4, 8)

    def choosing(park):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            park()
            return scaled_dot_product_attention(q, q, q)

    def attending():
        return scaled_dot_product_attention(q, q, q, dropout_p=0.1)

    chosen, attended = during(choosing, attending, locked=guarded)
    assert chosen.result(BOUND_S).shape == q.shape
    error = attended.exception(BOUND_S)
    if error is None:
        assert attended.result().shape == q.shape
        return "CLEAN", "attention with dropout returned its result"
    if isinstance(error, RuntimeError) and "No available kernel" in str(error):
        return "RAISED", f"RuntimeError: {error}"
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
