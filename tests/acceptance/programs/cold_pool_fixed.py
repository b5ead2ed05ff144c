"""The same pool, warmed by one call on the main thread before it serves."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

THREADS, BOUND_S = 12, 60
together = threading.Barrier(THREADS)


@torch.compile(backend="eager")
def model(x):
    return x * 2 + 1


def request(number: int) -> None:
    together.wait(BOUND_S)
    model(torch.ones(4))


def main() -> None:
    model(torch.ones(4))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(request, range(THREADS), timeout=BOUND_S))


if __name__ == "__main__":
    main()
