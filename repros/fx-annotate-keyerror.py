"""Two threads that enter torch.fx.traceback.annotate together delete one key twice: KeyError.

annotate looks whether a dictionary of the process has the key, adds it, and deletes it at its
end if it was not there. A is between look and add while B enters. Eager flex_attention and
create_block_mask annotate, so they fail in plain threads. Remedy: one lock round all of these.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch.fx.traceback as traceback

HAZARD = {
    "title": "two threads entering annotate() delete one key twice",
    "layer": "fx",
    "states": ("fx.traceback_meta",),
    "regions": (),
    "patterns": ("exception",),
    "racy": "RAISED",
    "remedy": "one lock round annotate, eager flex_attention and create_block_mask",
    "since": "2.12",
    "evidence": {
        "2.6.0": "SKIPPED 5 of 5; guarded SKIPPED 5 of 5",
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


class Stopping(dict):
    """current_meta, with the first thread stopped between annotate's look and its add."""

    def __contains__(self, key):
        found = super().__contains__(key)
        self.looked()
        return found


def run(*, guarded):
    if not hasattr(traceback, "annotate"):
        return "SKIPPED", "this torch has no torch.fx.traceback.annotate"
    looked, moved, left = (threading.Event() for _ in range(3))
    lock = Telling(moved) if guarded else nullcontext()
    traceback.current_meta = Stopping()

    def stop():
        if not looked.is_set():
            looked.set()
            assert moved.wait(BOUND_S)

    traceback.current_meta.looked = stop

    def first():
        try:
            with lock, traceback.annotate({"stage": 1}):
                pass
        finally:
            left.set()

    def second():
        assert looked.wait(BOUND_S)
        with lock, traceback.annotate({"stage": 2}):
            moved.set()
            assert left.wait(BOUND_S)

    pool = ThreadPoolExecutor(2)
    both = pool.submit(first), pool.submit(second)
    for one in both:
        error = one.exception(BOUND_S)
        if isinstance(error, KeyError):
            return "RAISED", f"KeyError: {error}"
        one.result()
    assert not traceback.current_meta
    return "CLEAN", "both annotations ended and nothing is left of them"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
