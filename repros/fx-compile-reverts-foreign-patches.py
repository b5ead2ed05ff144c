"""A compile in one thread takes the patches from under a trace in another: the graph is wrong.

Dynamo puts the process's FX patches away while it compiles, whosever they are. A, in the middle
of a symbolic trace, then records the insides of a layer that it should have recorded as a call.
B was in its compiled call before A began: its second half compiles. Remedy: no compile while
anybody traces.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import torch
import torch._dynamo

HAZARD = {
    "title": "a compile changes the graph that another thread is tracing",
    "layer": "fx",
    "states": ("fx.patcher", "nn.module_call"),
    "regions": (),
    "patterns": ("meeting",),
    "racy": "WRONG",
    "remedy": "one lock round every trace and every call that may compile",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#187589",),
    "silent": True,
}
BOUND_S = 90


class Telling:
    """A lock that says when somebody has to wait for it."""

    def __init__(self, moved):
        self.lock, self.moved = threading.Lock(), moved

    def __enter__(self):
        if not self.lock.acquire(blocking=False):
            self.moved.set()
            assert self.lock.acquire(timeout=BOUND_S)

    def __exit__(self, *error):
        self.lock.release()


def run(*, guarded):
    x, layer = torch.ones(3), torch.nn.Linear(3, 3)
    broken, inside, moved, reverted, traced = (threading.Event() for _ in range(5))
    lock = Telling(moved) if guarded else nullcontext()

    class Traced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            inside.set()
            moved.set()
            assert reverted.wait(BOUND_S)
            return self.layer(x).cos()

    @torch._dynamo.disable
    def graph_break():
        broken.set()
        assert moved.wait(BOUND_S)

    def backend(graph, _inputs):
        if inside.is_set():
            reverted.set()
            assert traced.wait(BOUND_S)
        return graph.forward  # past nn.Module.__call__, which the compile leaves patched

    def halves(x):
        x = x + 1
        graph_break()
        return x * 2

    def compiling():
        try:
            with lock:
                return torch.compile(halves, backend=backend)(x)
        finally:
            reverted.set()

    def tracing():
        assert broken.wait(BOUND_S)
        try:
            with lock:
                return torch.fx.symbolic_trace(Traced()).graph
        finally:
            traced.set()

    pool = ThreadPoolExecutor(2)
    result, graph = pool.submit(compiling), pool.submit(tracing)
    operations = [node.op for node in graph.result(BOUND_S).nodes]
    assert torch.equal(result.result(BOUND_S), (x + 1) * 2)
    told = f"the trace recorded {' '.join(operations)}"
    return ("CLEAN" if "call_module" in operations else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
