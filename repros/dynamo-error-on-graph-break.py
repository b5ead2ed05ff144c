"""A graph break is an error, because another thread asked for that while it compiles.

error_on_graph_break() sets a variable of the process round a block. A checks its own model; B,
which compiles a function with a graph break and always did, dies.
Remedy: fullgraph=True instead of the block, or one lock round block and first calls.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

HAZARD = {
    "title": "a first call fails under the error_on_graph_break of another thread",
    "layer": "dynamo",
    "states": ("dynamo.error_on_graph_break",),
    "regions": (),
    "patterns": ("meeting", "exception"),
    "racy": "RAISED",
    "remedy": "fullgraph=True on the function that must not break, instead of the block",
    "since": "2.12",
    "evidence": {
        "2.6.0": "SKIPPED 5 of 5; guarded SKIPPED 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
    },
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
    if not hasattr(torch._dynamo, "error_on_graph_break"):
        return "SKIPPED", "this torch has no error_on_graph_break"
    x = torch.ones(3)

    def broken(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    def strict(park):
        if guarded:
            return park() or torch.compile(lambda x: x * 3, backend="eager", fullgraph=True)(x)
        with torch._dynamo.error_on_graph_break(True):
            park()
            return torch.compile(lambda x: x * 3, backend="eager")(x)

    checked, called = during(strict, lambda: torch.compile(broken, backend="eager")(x))
    assert torch.equal(checked.result(BOUND_S), x * 3)
    error = called.exception(BOUND_S)
    if error is None:
        assert torch.equal(called.result(), (x + 1) * 2)
        return "CLEAN", "the function with a graph break ran"
    if type(error).__name__ == "Unsupported":
        return "RAISED", f"Unsupported: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
