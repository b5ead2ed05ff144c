"""A seeded block does not repeat itself, because another thread draws from its seed.

fork_rng saves the process's random state and puts it back; inside, every thread draws from the
block's seed. A's evaluation set differs from run to run, and B's draws come out again later.
Remedy: a torch.Generator per thread.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "a draw of another thread changes what a seeded fork_rng block gives",
    "layer": "front_end",
    "states": ("rng.cpu",),
    "regions": ("rng",),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "a torch.Generator per thread, passed to every random call",
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
    expected = torch.rand(4, generator=torch.Generator().manual_seed(0))

    def evaluating(park):
        if guarded:
            own = torch.Generator().manual_seed(0)
            park()
            return torch.rand(4, generator=own)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            park()
            return torch.rand(4)

    evaluated, sampled = during(evaluating, lambda: torch.rand(4))
    stolen = torch.equal(sampled.result(BOUND_S), expected)
    if torch.equal(evaluated.result(BOUND_S), expected):
        return "CLEAN", "the seeded block gave what its seed gives"
    return "WRONG", f"the seeded block gave other numbers; the other thread got them: {stolen}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
