"""A backward raises over a NaN that it always had, because another thread looks for anomalies.

detect_anomaly switches a mode of the process on for a block. A debugs its own model; B's
backward, whose NaN is masked later on, dies (and every backward of B is slow meanwhile).
Remedy: one lock round the block and every backward.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "backward raises under the detect_anomaly of another thread",
    "layer": "autograd",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "no detect_anomaly beside other threads' training, or one lock round both",
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
    def debugging(park):
        with torch.autograd.detect_anomaly(check_nan=True):
            park()

    def training():
        x = torch.zeros(3, requires_grad=True)
        (x.sqrt() * 0).sum().backward()
        return torch.nan_to_num(x.grad)

    debugged, trained = during(debugging, training, locked=guarded)
    debugged.result(BOUND_S)
    error = trained.exception(BOUND_S)
    if error is None:
        assert torch.equal(trained.result(), torch.zeros(3))
        return "CLEAN", "backward gave its gradient"
    if isinstance(error, RuntimeError) and "nan values" in str(error):
        return "RAISED", f"RuntimeError: {error}"
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
