"""The same two blocks, each drawing from a generator of its own; the process's is left alone."""

from __future__ import annotations

import threading

import torch
from torch.utils.checkpoint import checkpoint

BOUND_S = 60
first_in, second_out = threading.Event(), threading.Event()


def dropout(x, seed: int):
    generator = torch.Generator().manual_seed(seed)
    return x * 2 * torch.empty_like(x).bernoulli_(0.5, generator=generator)


def first_block(x):
    if not first_in.is_set():
        first_in.set()
        assert second_out.wait(BOUND_S)
    return dropout(x, 1) * x


def second_block(x):
    return dropout(x, 2) * x


def train(block) -> None:
    x = torch.ones(64, requires_grad=True)
    loss = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False).sum()
    second_out.set()
    loss.backward()


def second() -> None:
    assert first_in.wait(BOUND_S)
    try:
        train(second_block)
    finally:
        second_out.set()


def main() -> None:
    threads = [
        threading.Thread(target=train, args=(first_block,), name="drafter-0"),
        threading.Thread(target=second, name="drafter-1"),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
