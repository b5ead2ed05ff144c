"""One thread per GPU and a few shapes each: the function runs eager for good, in silence.

Each device index and each shape is an entry of the function's one cache, of eight. A thread
alone stays below that; all together do not. Needs two GPUs or more.
Remedy: raise the limit, in every thread.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

HAZARD = {
    "title": "threads of several GPUs together use up a function's recompile limit",
    "layer": "guards",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "raise recompile_limit in each thread, or give each device a function of its own",
    "since": "2.6",
    "evidence": {"2.11.0": "WRONG 3 of 3; guarded CLEAN 3 of 3"},
    "references": ("pytorch/pytorch#91777", "pytorch/pytorch#123177"),
    "device": "cuda",
    "silent": True,
}
BOUND_S = 90


def run(*, guarded):
    count = torch.cuda.device_count()
    if count < 2:
        return "SKIPPED", f"needs two GPUs, torch sees {count}"
    config = torch._dynamo.config
    option = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    shapes = range(2, 3 + 8 // count)  # fewer than 8 for a thread, more than 8 for all
    runs = []

    def backend(graph, _inputs):
        return lambda *arguments: (runs.append(1), graph(*arguments))[1]

    f = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)

    def training(index):
        if guarded:
            setattr(config, option, 64)
        for size in shapes:
            x = torch.ones(size, device=f"cuda:{index}")
            assert torch.equal(f(x), x * 2)

    for index in range(count):  # one after the other: no race is needed
        ThreadPoolExecutor(1).submit(training, index).result(BOUND_S)
    calls = count * len(shapes)
    told = f"{len(runs)} of {calls} calls ran compiled, {len(shapes)} shapes on {count} GPUs"
    return ("CLEAN" if len(runs) == calls else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
