"""A setting made in the main thread does not hold in a worker: it runs eager after 8 shapes.

From torch 2.12 on Dynamo's settings live in context variables, and a new thread begins with an
empty context. Remedy: run the worker's body in a copy of the context that has the settings.
"""

import contextvars
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

HAZARD = {
    "title": "Dynamo settings of the main thread are not seen by worker threads",
    "layer": "config",
    "states": ("dynamo.config_of_context",),
    "regions": (),
    "patterns": ("config_divergence",),
    "racy": "WRONG",
    "remedy": "set it in every thread, or start threads in contextvars.copy_context().run",
    "since": "2.12",
    "evidence": {
        "2.6.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#186537",),
    "silent": True,
}
BOUND_S = 90
SHAPES = 10


def run(*, guarded):
    config = torch._dynamo.config
    option = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    setattr(config, option, 77)
    executions = []

    def backend(graph, _inputs):
        def counted(*arguments):
            executions.append(1)
            return graph(*arguments)

        return counted

    f = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)

    def working():
        for size in range(2, 2 + SHAPES):
            assert torch.equal(f(torch.ones(size)), torch.full((size,), 2.0))
        return getattr(config, option)

    body = (contextvars.copy_context().run, working) if guarded else (working,)
    seen = ThreadPoolExecutor(1).submit(*body).result(BOUND_S)
    told = f"{len(executions)} of {SHAPES} calls ran compiled; {option} 77 in main, {seen} there"
    return ("CLEAN" if len(executions) == SHAPES else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
