"""Warm code is compiled again in a new thread, because another thread set the thread count.

torch.set_num_threads is remembered for the process, and a thread takes it over when it first
asks; Dynamo's guard compares it. A server's warm-up does not last until its first request.
Remedy: set the count once, before warming up.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "set_num_threads of another thread makes warm code recompile",
    "layer": "guards",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "set the thread count once, before anything is compiled",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("vllm-project/vllm#27286", "pytorch/pytorch#60469"),
    "silent": True,
}
BOUND_S = 90


def run(*, guarded):
    compiles, x = [], torch.ones(3)
    wanted = torch.get_num_threads() + 2
    if guarded:
        torch.set_num_threads(wanted)

    def backend(graph, _inputs):
        compiles.append(1)
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    assert torch.equal(f(x), x * 2)
    if not guarded:
        ThreadPoolExecutor(1).submit(torch.set_num_threads, wanted).result(BOUND_S)
    served = ThreadPoolExecutor(1).submit(f, x)
    assert torch.equal(served.result(BOUND_S), x * 2)
    told = f"{len(compiles) - 1} compiles of a warm function with the same input"
    return ("CLEAN" if len(compiles) == 1 else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
