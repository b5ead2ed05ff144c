"""compile_lock and a lock of the program, taken in opposite orders: deadlock.

A compiles, and its backend wants lock L. B holds L and makes a first compiled call, which wants
compile_lock. Remedy: no lock held over a call that may compile is ever taken inside a compile.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "deadlock: compile_lock and a lock of the program in opposite orders",
    "layer": "dynamo",
    "states": (),
    "regions": (),
    "patterns": ("lock_order",),
    "waits_for": ("torch._dynamo.compile_lock",),
    "racy": "HUNG",
    "remedy": "warm up before taking the lock; never take it inside a backend or fake kernel",
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
    x, pool, program = torch.ones(3), ThreadPoolExecutor(2), threading.Lock()
    compiling, wants = threading.Event(), threading.Event()
    outcome = []

    def backend(graph, _inputs):
        compiling.set()
        assert wants.wait(BOUND_S)
        got = program.acquire(timeout=STUCK_S)
        outcome.append(got)
        if got:
            program.release()
        return graph

    f = torch.compile(lambda x: x * 2, backend=backend)
    g = torch.compile(lambda x: x + 1, backend="eager")
    if guarded:
        g(x)
    convert_frame.compile_lock = Asked(convert_frame.compile_lock, wants)

    def holding():
        assert compiling.wait(BOUND_S)
        with program:
            result = g(x)
        wants.set()  # it came through: nothing was held from it
        return result

    calls = pool.submit(f, x), pool.submit(holding)
    assert torch.equal(calls[0].result(BOUND_S), x * 2)
    assert torch.equal(calls[1].result(BOUND_S), x + 1)
    if outcome == [False]:
        return "HUNG", "A holds compile_lock, wants the program's; B holds that, wants compile_lock"
    return "CLEAN", "both calls ended"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
