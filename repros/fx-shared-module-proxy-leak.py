"""An eager call of a shared layer returns a Proxy, and the other thread's graph gains its node.

A traces a model; B calls one of the model's layers. The class-level patch sends B's call into
A's tracer, which knows the layer: B gets a Proxy, and A's graph computes the layer twice.
Nothing is raised in A. Remedy: tracing excludes every forward pass.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "another thread's eager call is recorded into the graph that is being traced",
    "layer": "fx",
    "states": ("nn.module_call",),
    "regions": (),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "tracing excludes every forward pass: a readers-writer lock, tracing the writer",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#187589",),
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
    shared, x = torch.nn.Linear(3, 3), torch.ones(3)

    def tracing(park):
        class Traced(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.shared = shared

            def forward(self, x):
                park()
                return self.shared(x).cos()

        return torch.fx.symbolic_trace(Traced())

    traced, called = during(tracing, lambda: shared(x), locked=guarded)
    graph = traced.result(BOUND_S).graph
    nodes = sum(node.op == "call_module" for node in graph.nodes)
    result = called.result(BOUND_S)
    told = f"the graph calls the layer {nodes} times; eager call gave a {type(result).__name__}"
    if nodes == 1:
        assert torch.equal(result, shared(x))
        return "CLEAN", told
    return "WRONG", told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
