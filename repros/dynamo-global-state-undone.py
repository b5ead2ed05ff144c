"""A setting made while another thread compiles is undone at the end of that compile.

A compile saves the process's default dtype and determinism and puts them back. B asks for
deterministic algorithms meanwhile and is not deterministic from then on; nothing is raised.
Remedy: settings before threads start, or one lock round settings and calls that may compile.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch

HAZARD = {
    "title": "use_deterministic_algorithms is undone by another thread's compile",
    "layer": "dynamo",
    "states": ("dynamo.initial_global_state",),
    "regions": ("compile",),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "make settings before any thread compiles, or under one lock with all first calls",
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
    x = torch.ones(3)
    torch.compile(lambda x: x - 1, backend="eager")(x)  # all of Dynamo is imported

    def compiling(park):
        def backend(graph, _inputs):
            park()
            return graph

        return torch.compile(lambda x: x * 2, backend=backend)(x)

    compiled, settled = during(
        compiling, lambda: torch.use_deterministic_algorithms(True), locked=guarded
    )
    assert torch.equal(compiled.result(BOUND_S), x * 2)
    settled.result(BOUND_S)
    on = torch.are_deterministic_algorithms_enabled()
    told = f"deterministic algorithms were asked for and are {'on' if on else 'off'}"
    return ("CLEAN" if on else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
