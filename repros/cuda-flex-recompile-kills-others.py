"""A warm compiled flex_attention dies while another thread compiles it for a new shape.

The first call for a shape traces with FX inside AOTAutograd; up to 2.12 every compiled call of
every other thread raises meanwhile. A lock round each thread's first call is not enough: the
next new shape traces again. Remedy: one lock round every call, or all shapes first.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.fx._symbolic_trace
from torch.nn.attention.flex_attention import flex_attention

HAZARD = {
    "title": "a recompile of flex_attention in one thread kills warm calls of others",
    "layer": "dynamo",
    "states": ("fx.tracing_flag",),
    "regions": ("trace",),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "one lock round every compiled call, or compile all shapes before threads start",
    "since": "2.6",
    "fixed_in": "2.13",
    "evidence": {"2.11.0": "RAISED 3 of 3; guarded CLEAN 3 of 3"},
    "references": ("pytorch/pytorch#126024",),
    "device": "cuda",
    "timeout_s": 300.0,
}
BOUND_S = 240
DEVICE = "cuda"


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


parks = []


@torch.library.custom_op("repro::scaled", mutates_args=())
def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@scaled.register_fake
def _(x):
    if parks and torch.fx._symbolic_trace.is_fx_tracing():
        parks.pop()()
    return torch.empty_like(x)


def run(*, guarded):
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"

    def attention(q):
        return scaled(flex_attention(q, q, q))

    attend = torch.compile(attention, dynamic=False)
    short, long = (torch.randn(1, 1, n, 64, device=DEVICE) for n in (128, 256))
    expected = attend(short)
    if guarded:
        attend(long)

    def compiling(park):
        if guarded:
            park()
        else:
            parks.append(park)
        return attend(long)

    compiled, called = during(compiling, lambda: attend(short))
    assert compiled.result(BOUND_S).shape == long.shape
    error = called.exception(BOUND_S)
    if error is None:
        assert torch.allclose(called.result(), expected)
        return "CLEAN", "the warm call returned its result"
    if isinstance(error, RuntimeError) and "FX to symbolically trace" in str(error):
        return "RAISED", f"RuntimeError: {error}".splitlines()[0]
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
