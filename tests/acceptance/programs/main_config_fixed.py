"""The same pool, with the limit set in every thread that compiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

SHAPES, BOUND_S = 12, 120


@torch.compile(backend="eager", dynamic=False)
def model(x):
    return x * 2 + 1


def configure() -> None:
    torch._dynamo.config.recompile_limit = 64


def request(size: int) -> None:
    model(torch.ones(size))


def main() -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="worker", initializer=configure) as pool:
        list(pool.map(request, range(2, 2 + SHAPES), timeout=BOUND_S))


if __name__ == "__main__":
    main()
