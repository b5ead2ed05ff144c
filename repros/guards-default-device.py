"""Warm code is compiled again, because another thread chose a default device.

set_default_device holds for its thread, yet Dynamo's guard reads a variable of the process: A's
choice makes B's guard fail. Remedy: pass device= instead of choosing a default.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "another thread's default device makes warm code recompile",
    "layer": "guards",
    "states": ("device.current",),
    "regions": ("compile",),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "pass device= to factories; no set_default_device beside compiled calls",
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


def during(stay, act):
    """Runs act in one thread while another stands in stay."""
    inside, moved = threading.Event(), threading.Event()

    def park():
        inside.set()
        assert moved.wait(BOUND_S)

    def second():
        assert inside.wait(BOUND_S)
        try:
            return act()
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(stay, park), pool.submit(second)


def run(*, guarded):
    compiles, x = [], torch.ones(3)

    def backend(graph, _inputs):
        compiles.append(1)
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    f(x)

    def building(park):
        if guarded:
            park()
            return torch.empty(3, device="meta")
        torch.set_default_device("meta")
        park()
        try:
            return torch.empty(3)
        finally:
            torch.set_default_device(None)

    built, served = during(building, lambda: f(x))
    assert torch.equal(served.result(BOUND_S), x * 2)
    assert built.result(BOUND_S).device.type == "meta"
    told = f"{len(compiles) - 1} compiles of a warm function with the same input"
    return ("CLEAN" if len(compiles) == 1 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
