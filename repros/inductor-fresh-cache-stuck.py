"""Overlapping fresh_cache blocks leave Inductor's cache in a folder that is gone.

The block swaps environment variables of the process and puts the whole environment back as it
saw it. A enters, B enters, A leaves, B leaves: B puts A's deleted folder back, and whatever
another thread has put into the environment meanwhile is lost. Remedy: one lock round the blocks.
"""

import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from torch._inductor import utils as inductor

HAZARD = {
    "title": "overlapping fresh_cache blocks leave a deleted cache folder in the environment",
    "layer": "inductor",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "one lock round every fresh_cache block, or a cache folder per process",
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
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.gettempdir())
    fresh = getattr(inductor, "fresh_cache", None) or inductor.fresh_inductor_cache

    def measuring(park):
        with fresh():
            park()

    for one in crossed(measuring, measuring, locked=guarded):
        one.result(BOUND_S)
    folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    exists = Path(folder).exists()
    told = f"after both blocks the cache folder {'exists' if exists else 'is a deleted one'}"
    return ("CLEAN" if exists else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
