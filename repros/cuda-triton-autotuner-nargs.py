"""A Triton kernel fails while it is tuned, because another thread's launch of it has ended.

The autotuner keeps the arguments of a launch in itself and drops them at the end, whoever's they
are by then. A chooses between configurations while B launches the same kernel for a shape that
is tuned. Remedy: tune every shape in one thread, or one lock round launches.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

if not torch.cuda.is_available():
    print("SKIPPED needs a GPU, torch sees none", flush=True)
    sys.exit(77)

import triton
import triton.language as tl

HAZARD = {
    "title": "one thread's launch takes the arguments of another thread's autotuning",
    "layer": "triton",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "tune every shape in one thread first, or one lock round every launch",
    "since": "2.6",
    "evidence": {"2.11.0": "RAISED 3 of 3; guarded CLEAN 3 of 3"},
    "references": ("triton-lang/triton#11494", "triton-lang/triton#3095"),
    "device": "cuda",
}
BOUND_S = 90
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


def pruned(configs, _arguments, **_options):
    if parks:
        parks.pop()()
    return configs


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})],
    key=["n"],
    prune_configs_by={"early_config_prune": pruned},
)
@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def launch(n):
    x = torch.ones(n, device=DEVICE)
    out = torch.zeros_like(x)
    doubled[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out


def run(*, guarded):
    assert launch(1000).sum().item() == 2000
    if guarded:
        launch(3000)

    def tuning(park):
        park() if guarded else parks.append(park)
        return launch(3000)

    tuned, served = during(tuning, lambda: launch(1000))
    assert served.result(BOUND_S).sum().item() == 2000
    error = tuned.exception(BOUND_S)
    if error is None:
        assert tuned.result().sum().item() == 6000
        return "CLEAN", "the kernel was tuned"
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error):
        return "RAISED", f"{type(error).__name__}: {error}"
    raise error


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
