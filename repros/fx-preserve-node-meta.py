"""A graph loses the metadata it was asked to keep, because another thread's block ended.

preserve_node_meta sets a flag of the process and puts back what it saw. B, inside its block,
traces after A's block has ended: its nodes carry nothing, and a pass that reads them goes wrong.
Remedy: one lock round every block and every trace.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
import torch.fx.traceback as traceback
from torch.fx.experimental.proxy_tensor import make_fx

HAZARD = {
    "title": "node metadata is dropped when another thread leaves preserve_node_meta",
    "layer": "fx",
    "states": ("fx.preserve_node_meta",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "one lock round every preserve_node_meta block",
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
    x, marked = torch.ones(3), torch.fx.Graph().placeholder("marked")
    marked.meta["custom"] = {"stage": 1}

    def first(park):
        with traceback.preserve_node_meta():
            park()

    def second(park):
        with traceback.preserve_node_meta():
            park()
            with traceback.set_current_meta(marked):
                return make_fx(lambda x: x.cos())(x)

    one, two = crossed(first, second, locked=guarded)
    one.result(BOUND_S)
    kept = [node.name for node in two.result(BOUND_S).graph.nodes if "custom" in node.meta]
    left = traceback.has_preserved_node_meta()
    told = f"{len(kept)} nodes kept their metadata; afterwards the flag is {left}"
    return ("CLEAN" if kept and not left else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
