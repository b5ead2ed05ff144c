"""Two threads train checkpointed blocks with dropout, on the process's one random generator.

The first stands in its forward until the second has drawn its own mask, so it draws a later one
than its recompute will: its gradient belongs to a mask that was never used. Nothing is raised. The
second's backward waits for the first to end: it sets the generator back as well, and could by
chance undo the harm.
"""

from __future__ import annotations

import threading

import torch
from torch.utils.checkpoint import checkpoint

BOUND_S = 60
first_in, second_out, first_done = threading.Event(), threading.Event(), threading.Event()


def first_block(x):
    if not first_in.is_set():  # the forward, not the recompute
        first_in.set()
        assert second_out.wait(BOUND_S)
    return torch.nn.functional.dropout(x) * x


def second_block(x):
    return torch.nn.functional.dropout(x) * x


def train(block):
    x = torch.ones(64, requires_grad=True)
    return checkpoint(block, x, use_reentrant=False).sum()


def first() -> None:
    try:
        train(first_block).backward()
    finally:
        first_done.set()


def second() -> None:
    assert first_in.wait(BOUND_S)
    try:
        loss = train(second_block)
    finally:
        second_out.set()
    assert first_done.wait(BOUND_S)
    loss.backward()


def main() -> None:
    threads = [
        threading.Thread(target=first, name="drafter-0"),
        threading.Thread(target=second, name="drafter-1"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
