"""Eager code takes the branch for compiled code, because another thread compiles.

torch.compiler.is_compiling() tells of the process. A library that answers it with a traceable
approximation, or skips its checks, does so in a thread that compiles nothing.
Remedy: one lock round first calls and code that asks; or ask is_dynamo_compiling().
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "is_compiling() is True in a thread that runs eager",
    "layer": "dynamo",
    "states": ("compiler.is_compiling",),
    "regions": ("compile", "export"),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "ask torch.compiler.is_dynamo_compiling(), which the tracer answers for its own code",
    "since": "2.13",
    "evidence": {
        "2.6.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#184614",),
    "silent": True,
}
BOUND_S = 90


def during(stay, act):
    """Runs act in one thread while another stands in stay."""
    inside, moved = threading.Event(), threading.Event()

    def park():
        inside.set()
        assert moved.wait(BOUND_S)

    def second():
        assert inside.wait(BOUND_S)
        try:
            return act()
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(stay, park), pool.submit(second)


def run(*, guarded):
    x = torch.full((3,), 2.0)
    ask = torch.compiler.is_dynamo_compiling if guarded else torch.compiler.is_compiling
    torch.compile(lambda x: x - 1, backend="eager")(x)  # all of Dynamo is imported

    def checked(x):
        """A library function: refuses bad input, but where a compiler would trace the check."""
        return x if ask() else x.clamp(max=1.0)

    def compiling(park):
        def backend(graph, _inputs):
            park()
            return graph

        return torch.compile(lambda x: x * 2, backend=backend)(x)

    compiled, called = during(compiling, lambda: checked(x))
    assert torch.equal(compiled.result(BOUND_S), x * 2)
    got = called.result(BOUND_S)[0].item()
    return ("CLEAN" if got == 1.0 else "WRONG"), f"the eager call gave {got}, alone it gives 1.0"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
