"""A CUDA graph capture fails because another thread allocates on the GPU.

The default capture mode forbids unsafe CUDA calls to every thread of the process while one
captures. B's allocation raises, and A's capture is invalid.
Remedy: capture_error_mode="thread_local". What that does not allow shows
cuda-graph-capture-autotuning.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "another thread's work on the GPU invalidates a CUDA graph capture",
    "layer": "cudagraphs",
    "states": (),
    "regions": ("cudagraph",),
    "patterns": ("exception",),
    "racy": "RAISED",
    "remedy": "capture before other threads start; capture_error_mode='thread_local' is enough "
    "where they allocate and launch, not where one waits for the device, as a first compiled call "
    "does",
    "since": "2.6",
    "evidence": {"2.11.0": "RAISED 3 of 3; guarded CLEAN 3 of 3"},
    "references": ("pytorch/pytorch#107407", "vllm-project/vllm#48053"),
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


def run(*, guarded):
    if not torch.cuda.is_available():
        return "SKIPPED", "needs a GPU, torch sees none"
    x = torch.ones(64, device=DEVICE)
    mode = "thread_local" if guarded else "global"

    def capturing(park):
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            (x.sin() + 1).sum()  # warm up
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
            y = x.sin() + 1
            park()
        graph.replay()
        torch.cuda.synchronize()
        return y.clone()

    def allocating():
        return torch.ones(2**26, device=DEVICE).numel()  # more than the cache holds

    captured, allocated = during(capturing, allocating)
    errors = [error for one in (captured, allocated) if (error := one.exception(BOUND_S))]
    if not errors:
        assert torch.allclose(captured.result(), x.sin() + 1)
        return "CLEAN", "the graph was captured and replays"
    assert "captur" in str(errors[0]), errors[0]
    told = " ".join(str(errors[0]).split())[:140]
    return "RAISED", f"{len(errors)} of 2 threads: {type(errors[0]).__name__}: {told}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
