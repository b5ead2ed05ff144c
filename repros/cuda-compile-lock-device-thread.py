"""A compile waits for autograd's device thread, which waits for the compile: deadlock.

One thread of the process runs the backward of all that is on a GPU. B's backward compiles there
and wants compile_lock. A holds it and calls autograd.grad inside its compile, as the joint trace
of flex_attention does, which queues behind B. No lock tool sees the device thread.
Remedy: run such inner backwards on the calling thread.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, TimeoutError

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "deadlock: compile_lock against the device thread of autograd",
    "layer": "autograd",
    "states": (),
    "regions": (),
    "patterns": ("hang",),
    "waits_for": ("torch._dynamo.compile_lock", "autograd's device thread"),
    "racy": "HUNG",
    "remedy": "torch.autograd.set_multithreading_enabled(False) round backwards inside a compile",
    "since": "2.6",
    "evidence": {"2.11.0": "HUNG 3 of 3; guarded CLEAN 3 of 3"},
    "device": "cuda",
}
BOUND_S = 90
DEVICE, STUCK_S = "cuda", 5


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
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    x, pool = torch.ones(3, device=DEVICE), ThreadPoolExecutor(3)
    compiling, wants, stuck = threading.Event(), threading.Event(), []
    cold = torch.compile(lambda x: x * 3, backend="eager")
    torch.compile(lambda x: x - 1, backend="eager")(x)  # all of Dynamo is imported
    convert_frame.compile_lock = Asked(convert_frame.compile_lock, wants)

    class Meets(torch.autograd.Function):
        @staticmethod
        def forward(_ctx, x):
            return x.clone()

        @staticmethod
        def backward(_ctx, gradient):
            assert compiling.wait(BOUND_S)
            return cold(gradient)

    def inner():
        y = torch.ones(3, device=DEVICE, requires_grad=True)
        with torch.autograd.set_multithreading_enabled(not guarded):
            return torch.autograd.grad(y.sin().sum(), y)[0]

    def backend(graph, _inputs):
        compiling.set()
        assert wants.wait(BOUND_S)
        waiting = pool.submit(inner)  # a backward of our own could not be given up
        try:
            assert torch.allclose(waiting.result(STUCK_S), x.cos())
        except TimeoutError:
            stuck.append(waiting)
        return graph

    def training():
        y = torch.ones(3, device=DEVICE, requires_grad=True)
        Meets.apply(y).sum().backward()
        return y.grad

    trained = pool.submit(training)
    compiled = pool.submit(torch.compile(lambda x: x * 2, backend=backend), x)
    assert torch.equal(compiled.result(BOUND_S), x * 2)
    assert torch.equal(trained.result(BOUND_S), x * 3)
    if stuck:
        assert torch.allclose(stuck[0].result(BOUND_S), x.cos())
        return "HUNG", "compile -> device thread -> backward of B -> compile_lock -> compile"
    return "CLEAN", "the compile did its backward while B's waited"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
