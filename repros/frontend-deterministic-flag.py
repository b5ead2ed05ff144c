"""An operator raises, because another thread wants deterministic algorithms for a block.

use_deterministic_algorithms holds for the process. A evaluates reproducibly and switches back;
an operator without a deterministic form raises in B meanwhile.
Remedy: switch once, before threads start.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "an operator raises under the determinism another thread has asked for",
    "layer": "front_end",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "switch it once before threads start, or use processes",
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
    torch.use_deterministic_algorithms(False)

    def evaluating(park):
        torch.use_deterministic_algorithms(True)
        try:
            park()
        finally:
            torch.use_deterministic_algorithms(False)

    def training():
        return torch.zeros(3).put_(torch.tensor([0]), torch.ones(1))

    evaluated, trained = during(evaluating, training, locked=guarded)
    evaluated.result(BOUND_S)
    error = trained.exception(BOUND_S)
    if error is None:
        assert torch.equal(trained.result(), torch.tensor([1.0, 0.0, 0.0]))
        return "CLEAN", "the operator returned its result"
    if isinstance(error, RuntimeError) and "deterministic implementation" in str(error):
        return "RAISED", f"RuntimeError: {error}"[:160]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
