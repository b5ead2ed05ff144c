"""A pool of threads whose first call is cold: every thread compiles the same function.

The first compile takes until all threads have made their first call; then each of them compiles
once more, and the duplicates fill Dynamo's cache of eight. In the style of pytorch/pytorch#123177.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

THREADS, BOUND_S = 12, 60
together, all_called = threading.Barrier(THREADS), threading.Event()


def slowly(graph, inputs):
    assert all_called.wait(BOUND_S)
    return graph


@torch.compile(backend=slowly)
def model(x):
    return x * 2 + 1


def request(number: int) -> None:
    if together.wait(BOUND_S) == 0:
        all_called.set()
    model(torch.ones(4))


def main() -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(request, range(THREADS), timeout=BOUND_S))


if __name__ == "__main__":
    main()
