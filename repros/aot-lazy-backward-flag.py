"""A compiled call dies in the middle of another thread's first backward.

The graph of a backward is lowered when backward first runs, and lowering traces with FX (as
Inductor's pattern matcher does). A lock round first forward calls does not cover it.
Remedy: run forward and backward once, in one thread, before the others start.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.experimental.proxy_tensor import make_fx

HAZARD = {
    "title": "the first backward of one thread kills compiled calls of others",
    "layer": "aot",
    "states": ("fx.tracing_flag",),
    "regions": ("lazy_backward",),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "warm up backward too: one full step, in one thread, per shape and grad mode",
    "since": "2.6",
    "fixed_in": "2.14",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#126024",),
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
    parks = []

    def lower_forward(graph, _inputs):
        return make_boxed_func(graph)

    def lower_backward(graph, inputs):
        traced = make_fx(lambda *a: ([park() for park in parks], graph(*a))[1])(*inputs)
        return make_boxed_func(traced)

    backend = aot_autograd(fw_compiler=lower_forward, bw_compiler=lower_backward)
    f, g = torch.compile(torch.sin, backend=backend), torch.compile(torch.cos, backend="eager")
    y = torch.ones(3)
    assert torch.equal(g(y), y.cos())

    def step():
        x = torch.ones(3, requires_grad=True)
        f(x).sum().backward()
        return x.grad

    def training(park):
        if guarded:
            step()
            park()
            return step()
        parks.append(park)
        return step()

    trained, served = during(training, lambda: g(y))
    assert torch.allclose(trained.result(BOUND_S), y.cos())
    error = served.exception(BOUND_S)
    if error is None:
        assert torch.equal(served.result(), y.cos())
        return "CLEAN", "the compiled call returned its result"
    if isinstance(error, RuntimeError) and "FX to symbolically trace" in str(error):
        return "RAISED", f"RuntimeError: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
