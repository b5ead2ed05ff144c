"""A CUDA graph capture fails because another thread calls a compiled function for the first time.

Before a compiled function's kernels run for the first time Inductor times their variants, and for
that it waits for the whole device. While a stream of the device is being captured, waiting for the
device is an error, and it spoils the capture. Mode "thread_local" allows what other threads
allocate and launch; this it does not.
Remedy: call every compiled function once before anything is captured.
"""

import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "a first compiled call invalidates another thread's CUDA graph capture",
    "layer": "cudagraphs",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "RAISED",
    "remedy": "call every compiled function once before anything is captured",
    "since": "2.11",
    "evidence": {"2.11.0": "RAISED 3 of 3; guarded CLEAN 1 of 1"},
    "references": ("pytorch/pytorch#107407", "triton-lang/triton#10596"),
    "device": "cuda",
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


def run(*, guarded):
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    x, rows = torch.ones(64, device=DEVICE), torch.randn(4096, 4096, device=DEVICE)
    # What was timed before is remembered beside the kernels.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
    softmax = torch.compile(lambda rows: rows.softmax(dim=-1) * 2)
    if guarded:
        softmax(rows)

    def capturing(park):
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x.sin() + 1  # warm up
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            y = x.sin() + 1
            park()
        graph.replay()
        torch.cuda.synchronize()
        return y.clone()

    captured, called = during(capturing, lambda: softmax(rows))
    errors = [error for one in (captured, called) if (error := one.exception(BOUND_S))]
    if not errors:
        assert torch.allclose(captured.result(), x.sin() + 1)
        assert torch.allclose(called.result(), rows.softmax(dim=-1) * 2, atol=1e-5)
        return "CLEAN", "the graph was captured and replays"
    assert "captur" in str(errors[0]), errors[0]
    told = " ".join(str(errors[0]).split())[:140]
    return "RAISED", f"{len(errors)} of 2 threads: {type(errors[0]).__name__}: {told}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
