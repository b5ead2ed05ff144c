"""A model is built in bfloat16, because another thread loads one under a default dtype.

The default dtype is the process's. Loaders set it round a block and put it back; a tensor that
another thread makes meanwhile has the loader's dtype. Remedy: pass dtype= to factories.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "tensors take the default dtype that another thread has set for a block",
    "layer": "front_end",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "dtype= on factories and modules; no set_default_dtype once threads run",
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
    def loading(park):
        if guarded:
            park()
            return torch.nn.Linear(2, 2, dtype=torch.bfloat16)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        try:
            park()
            return torch.nn.Linear(2, 2)
        finally:
            torch.set_default_dtype(before)

    loaded, built = during(loading, lambda: torch.nn.Linear(2, 2))
    assert loaded.result(BOUND_S).weight.dtype == torch.bfloat16
    dtype = built.result(BOUND_S).weight.dtype
    return ("CLEAN" if dtype == torch.float32 else "WRONG"), f"the other model is in {dtype}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
