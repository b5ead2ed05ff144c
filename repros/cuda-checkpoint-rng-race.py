"""A recompute on the GPU draws another dropout mask, because another thread drew in between.

checkpoint saves the random state of the device, which all threads of that device share. Two
drafters on one GPU are enough: the gradient is not that of the forward, nothing is raised.
Remedy: no dropout in checkpointed blocks, or one device per thread.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.checkpoint import checkpoint

HAZARD = {
    "title": "threads that share a GPU change each other's recomputed dropout masks",
    "layer": "checkpoint",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "a torch.Generator per thread, or no random operation in checkpointed blocks",
    "since": "2.6",
    "evidence": {"2.11.0": "WRONG 3 of 3; guarded CLEAN 3 of 3"},
    "device": "cuda",
    "silent": True,
}
BOUND_S = 90
DEVICE = "cuda"


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
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"

    def training(park):
        masks = []

        def block(x):
            if not masks:
                park()
            mask = torch.nn.functional.dropout(torch.ones_like(x))
            masks.append(mask.detach())
            return x * mask

        torch.cuda.manual_seed(1)
        x = torch.ones(64, device=DEVICE, requires_grad=True)
        checkpoint(block, x, use_reentrant=False).sum().backward()
        return masks[0], x.grad

    def loading():
        own = torch.Generator(DEVICE).manual_seed(2) if guarded else None
        return torch.rand(7, device=DEVICE, generator=own)

    trained, loaded = during(training, loading)
    assert loaded.result(BOUND_S).shape == (7,)
    mask, gradient = trained.result(BOUND_S)
    wrong = int((mask != gradient).sum())
    told = f"{wrong} of {len(mask)} gradients do not belong to the forward's mask"
    return ("WRONG" if wrong else "CLEAN"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
