"""A recompile limit set on the main thread, for a pool of threads that never see it.

From torch 2.12 Dynamo's configuration belongs to the thread that sets it: the worker recompiles
under the default limit of eight and then runs uncompiled for good. In the style of
pytorch/pytorch#186537.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

SHAPES, BOUND_S = 12, 120


@torch.compile(backend="eager", dynamic=False)
def model(x):
    return x * 2 + 1


def request(size: int) -> None:
    model(torch.ones(size))


def main() -> None:
    torch._dynamo.config.recompile_limit = 64
    with ThreadPoolExecutor(1, thread_name_prefix="worker") as pool:
        list(pool.map(request, range(2, 2 + SHAPES), timeout=BOUND_S))


if __name__ == "__main__":
    main()
