"""Draws made while another thread recomputes come from the past, and are drawn again later.

A recompute sets the process's random state back to the forward's and restores it afterwards.
B's draw in between repeats numbers that the forward has used. Remedy: a Generator per thread.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.checkpoint import checkpoint

HAZARD = {
    "title": "a draw during another thread's recompute repeats the forward's numbers",
    "layer": "checkpoint",
    "states": ("rng.cpu",),
    "regions": ("recompute", "rng"),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "a torch.Generator per thread, or preserve_rng_state=False where nothing is random",
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
    drawn = []
    torch.manual_seed(1)
    expected = torch.rand(8)
    own = torch.Generator().manual_seed(2) if guarded else None

    def training(park):
        def block(x):
            if drawn:
                park()
            drawn.append(torch.rand(8))
            return x * drawn[-1]

        torch.manual_seed(1)
        x = torch.ones(8, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()

    trained, sampled = during(training, lambda: torch.rand(8, generator=own))
    sample = sampled.result(BOUND_S)
    trained.result(BOUND_S)
    assert torch.equal(drawn[0], expected)
    if torch.equal(sample, expected):
        return "WRONG", "the sampler drew the very numbers of the other thread's forward"
    return "CLEAN", "the sample is its own"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
