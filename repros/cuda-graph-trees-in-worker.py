"""A reduce-overhead call fails a bare assertion in a worker thread.

CUDA graph trees keep their containers in the storage of the thread that imported them. Main
compiles and warms up; a worker's call of the same function dies.
Remedy: all such calls on one thread.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._inductor.cudagraph_trees

HAZARD = {
    "title": "mode='reduce-overhead' asserts in a thread that did not import the trees",
    "layer": "cudagraphs",
    "states": ("cudagraphs.containers",),
    "regions": ("cudagraph",),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "one dedicated thread for all reduce-overhead calls, compile included",
    "since": "2.6",
    "fixed_in": "2.13",
    "evidence": {},
    "references": ("pytorch/pytorch#123177", "pytorch/pytorch#184357"),
    "device": "cuda",
    "timeout_s": 300.0,
}
BOUND_S = 240
DEVICE = "cuda"


def run(*, guarded):
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    x = torch.ones(64, device=DEVICE)
    f = torch.compile(lambda x: x.sin() + 1, mode="reduce-overhead")
    pool = ThreadPoolExecutor(1)

    def call():
        torch.compiler.cudagraph_mark_step_begin()
        return f(x).clone()

    first = pool.submit(call).result(BOUND_S) if guarded else call()
    served = pool.submit(call)
    error = served.exception(BOUND_S)
    if error is None:
        assert torch.allclose(served.result(), first)
        return "CLEAN", "the worker's call returned its result"
    if isinstance(error, AssertionError):
        return "RAISED", f"AssertionError {error} in the worker"
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
