"""CUDA graph trees fail a bare assertion in every thread but the one that imported them.

The trees' containers are made in thread-local storage when the module is imported. A compiled
call with mode="reduce-overhead" asks for them in its own thread; the lookup needs no GPU.
Remedy: one thread makes all such calls, the one that imported the module.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from torch._inductor import cudagraph_trees

HAZARD = {
    "title": "CUDA graph trees assert in a thread that did not import them",
    "layer": "cudagraphs",
    "states": ("cudagraphs.containers",),
    "regions": (),
    "patterns": ("exception",),
    "racy": "RAISED",
    "remedy": "one dedicated thread for all reduce-overhead calls, compile included",
    "since": "2.6",
    "fixed_in": "2.13",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#123177", "pytorch/pytorch#184357"),
}
BOUND_S = 90


def run(*, guarded):
    if guarded:
        return_value = cudagraph_trees.get_container(0)  # this thread made the import
        assert return_value is cudagraph_trees.get_container(0)
        return "CLEAN", "the importing thread has its container"
    served = ThreadPoolExecutor(1).submit(cudagraph_trees.get_container, 0)
    error = served.exception(BOUND_S)
    if isinstance(error, AssertionError):
        return "RAISED", "a bare AssertionError in get_obj, in a worker thread"
    assert served.result() is not None
    return "CLEAN", "the worker thread got a container"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
