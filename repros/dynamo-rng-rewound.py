"""Random numbers drawn while another thread compiles are drawn again after the compile.

A compile saves the process's random state and puts it back at its end, whoever has drawn in
between: a sampler gets the same noise twice, augmentation repeats itself. Nothing is raised.
Remedy: a torch.Generator per thread.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "draws made during another thread's compile are repeated afterwards",
    "layer": "dynamo",
    "states": ("rng.cpu", "dynamo.initial_global_state"),
    "regions": ("compile",),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "a torch.Generator per thread",
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


def run(*, guarded):
    compiling, drawn, x = threading.Event(), threading.Event(), torch.ones(3)
    generator = torch.Generator().manual_seed(3) if guarded else None

    def backend(graph, _inputs):
        compiling.set()
        assert drawn.wait(BOUND_S)
        return graph

    def draw():
        return torch.rand(4, generator=generator)

    def sampling():
        assert compiling.wait(BOUND_S)
        try:
            return draw()
        finally:
            drawn.set()

    pool = ThreadPoolExecutor(2)
    compiled = pool.submit(torch.compile(lambda x: x * 2, backend=backend), x)
    sampled = pool.submit(sampling)
    first = sampled.result(BOUND_S)
    assert torch.equal(compiled.result(BOUND_S), x * 2)
    second = draw()
    if torch.equal(first, second):
        return "WRONG", f"the sampler drew {first[0]:.4f}... twice"
    return "CLEAN", "the two samples differ"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
