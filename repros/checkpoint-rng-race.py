"""Checkpointing recomputes with another dropout mask: the gradient is wrong, nothing is raised.

checkpoint saves the process's random state when the block begins. Another thread's draw before
the block's dropout moves the generator, so the forward mask is not the one that the recompute
restores. Both kinds of checkpoint. Remedy: each thread draws from a Generator of its own.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils.checkpoint import checkpoint

HAZARD = {
    "title": "another thread's draw gives a checkpointed block a different mask in the recompute",
    "layer": "checkpoint",
    "states": ("rng.cpu",),
    "regions": ("checkpoint", "recompute"),
    "patterns": ("checkpoint_rng", "overlap", "race"),
    "racy": "WRONG",
    "remedy": "a torch.Generator per thread, or no random operation in checkpointed blocks",
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


def gradient(*, reentrant, guarded):
    """The forward's mask and the gradient, which should be the mask."""
    inside, drawn, masks = threading.Event(), threading.Event(), []

    def block(x):
        if not masks:
            inside.set()
            assert drawn.wait(BOUND_S)
        mask = torch.nn.functional.dropout(torch.ones_like(x))
        masks.append(mask.detach())
        return x * mask

    def training():
        torch.manual_seed(1)
        x = torch.ones(64, requires_grad=True)
        checkpoint(block, x, use_reentrant=reentrant).sum().backward()
        return masks[0], x.grad

    def loading():
        assert inside.wait(BOUND_S)
        own = torch.Generator().manual_seed(2) if guarded else None
        try:
            return torch.rand(7, generator=own)
        finally:
            drawn.set()

    pool = ThreadPoolExecutor(2)
    trained, loaded = pool.submit(training), pool.submit(loading)
    assert loaded.result(BOUND_S).shape == (7,)
    return trained.result(BOUND_S)


def run(*, guarded):
    wrong = []
    for reentrant in (False, True):
        mask, grad = gradient(reentrant=reentrant, guarded=guarded)
        if not torch.equal(mask, grad):
            differing = int((mask != grad).sum())
            wrong.append(f"use_reentrant={reentrant}: {differing} of {len(mask)} elements")
    if wrong:
        return "WRONG", f"gradient is not that of the forward: {'; '.join(wrong)}"
    return "CLEAN", "gradients belong to the forward's masks"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
