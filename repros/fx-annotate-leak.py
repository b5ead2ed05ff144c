"""An annotation of a thread that has ended marks every later graph of the process.

annotate saves what a dictionary of the process holds and puts it back. A enters, B enters and
saves A's annotation, A leaves, B leaves and puts A's annotation back, for good.
Remedy: one lock round whatever annotates, eager flex_attention included.
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
    "title": "overlapping annotate() blocks leave an annotation on every later graph",
    "layer": "fx",
    "states": ("fx.traceback_meta",),
    "regions": (),
    "patterns": ("leak", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "one lock round annotate, eager flex_attention and create_block_mask",
    "since": "2.12",
    "evidence": {
        "2.6.0": "SKIPPED 5 of 5; guarded SKIPPED 5 of 5",
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
    if not hasattr(traceback, "annotate"):
        return "SKIPPED", "this torch has no torch.fx.traceback.annotate"

    def annotating(stage):
        def body(park):
            with traceback.annotate({"stage": stage}):
                park()

        return body

    for one in crossed(annotating(1), annotating(2), locked=guarded):
        one.result(BOUND_S)
    with traceback.preserve_node_meta():
        graph = make_fx(lambda x: x.cos(), record_module_stack=False)(torch.ones(3)).graph
    marked = [n.meta["custom"] for n in graph.nodes if n.meta.get("custom")]
    told = f"an unrelated graph has {len(marked)} annotated nodes {marked[:1]}"
    return ("WRONG" if marked else "CLEAN"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
