"""A compile waits for a helper thread, which waits for the compile: deadlock.

One lock of the process is held through a whole compile, the backend included. A backend that
hands work to a thread and waits for it hangs when that work calls a cold compiled function.
Remedy: warm whatever helpers call before they may be needed inside a compile.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, TimeoutError

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "deadlock: compile_lock against a helper thread of the backend",
    "layer": "dynamo",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "HUNG",
    "remedy": "no waiting for other threads inside a compile; warm the helpers' functions first",
    "since": "2.6",
    "evidence": {
        "2.6.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#105943",),
}
BOUND_S = 90
STUCK_S = 3


class Asked:
    """compile_lock, saying when a thread that does not hold it asks for it."""

    def __init__(self, lock, waits):
        self.lock, self.waits, self.owner = lock, waits, None

    def __enter__(self):
        if self.owner not in (None, threading.get_ident()):
            self.waits.set()
        self.lock.acquire()
        self.owner = threading.get_ident()

    def __exit__(self, *error):
        self.lock.release()


def run(*, guarded):
    x, pool = torch.ones(3), ThreadPoolExecutor(2)
    helper = torch.compile(lambda x: x + 1, backend="eager")
    wanted, waits = [], threading.Event()
    if guarded:
        helper(x)
    convert_frame.compile_lock = Asked(convert_frame.compile_lock, waits)

    def backend(graph, _inputs):
        wanted.append(pool.submit(helper, x))
        if guarded:
            assert torch.equal(wanted[0].result(BOUND_S), x + 1)
            return graph
        assert waits.wait(BOUND_S)
        try:
            wanted[0].result(STUCK_S)
        except TimeoutError:
            wanted.append("stuck")
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    assert torch.equal(pool.submit(f, x).result(BOUND_S), x * 2)
    assert torch.equal(wanted[0].result(BOUND_S), x + 1)  # it only ever wanted the lock
    if len(wanted) > 1:
        return "HUNG", "compile -> helper thread -> compile_lock -> compile"
    return "CLEAN", "the helper ran inside the compile"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
