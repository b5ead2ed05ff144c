"""A setting of the main thread does not hold in its own backward: the recompute runs eager.

From torch 2.12 on settings are per context, and a reentrant checkpoint recomputes on autograd's
device thread, which has none. It compiles the graph with gradients under the default limit.
Remedy: make the setting inside the checkpointed function.
"""

import os
import sys

import torch
import torch._dynamo
from torch.utils.checkpoint import checkpoint

HAZARD = {
    "title": "Dynamo settings of the main thread are not seen by autograd's device thread",
    "layer": "config",
    "states": (),
    "regions": ("config",),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "make the setting inside the checkpointed function, or use_reentrant=False",
    "since": "2.12",
    "evidence": {"2.11.0": "CLEAN 3 of 3; guarded CLEAN 3 of 3"},
    "references": ("pytorch/pytorch#186537",),
    "device": "cuda",
    "silent": True,
}
DEVICE, SHAPES = "cuda", 10


def run(*, guarded):
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    config = torch._dynamo.config
    option = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    setattr(config, option, 77)
    runs, seen = [], []

    def backend(graph, _inputs):
        return lambda *arguments: (runs.append(1), graph(*arguments))[1]

    f = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)

    def block(x):
        if guarded:
            setattr(config, option, 77)
        seen.append(getattr(config, option))
        return f(x)

    for size in range(2, 2 + SHAPES):
        x = torch.ones(size, device=DEVICE, requires_grad=True)
        checkpoint(block, x, use_reentrant=True).sum().backward()
        assert torch.equal(x.grad, torch.full_like(x, 2.0))
    told = f"{len(runs)} of {2 * SHAPES} calls ran compiled; "
    told += f"{option} {seen[0]} in forward, {seen[1]} in backward"
    return ("CLEAN" if len(runs) == 2 * SHAPES else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
