"""Threads that meet a cold compiled flex_attention make it materialise its scores, silently.

Each thread that waits for compile_lock compiles the same graph again and takes one of eight
entries of the cache. The next shape is refused one, runs flex_attention's uncompiled path and
holds all scores in memory: the out-of-memory error that follows names no thread.
Remedy: one thread makes the first call before the others start.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch._dynamo import convert_frame
from torch.nn.attention.flex_attention import flex_attention

HAZARD = {
    "title": "first calls of compiled flex_attention in many threads end in dense attention",
    "layer": "dynamo",
    "states": (),
    "regions": (),
    "patterns": ("dense",),
    "racy": "WRONG",
    "remedy": "warm up in one thread, or the guards compile_once or one_owner",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("vllm-project/vllm#27178",),
    "silent": True,
}
BOUND_S = 90
THREADS = 12


class Counting:
    """compile_lock as it is, letting the first holder go on once all others wait for it."""

    def __init__(self, lock, arrived):
        self.lock, self.arrived = lock, arrived

    def __enter__(self):
        self.arrived.release()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def counting_scores(seen):
    """Notes the shape of scores that are made of real tensors."""
    module = sys.modules["torch._higher_order_ops.flex_attention"]
    plain = module.math_attention

    def counted(query, key, *rest):
        if type(query) is torch.Tensor and not torch.compiler.is_compiling():
            seen.append((query.shape[-2], key.shape[-2]))
        return plain(query, key, *rest)

    module.math_attention = counted


def run(*, guarded):
    compiles, scores, arrived = [], [], threading.Semaphore(0)

    def backend(_graph, _inputs):
        if not compiles and not guarded:
            for _ in range(THREADS):
                assert arrived.acquire(timeout=BOUND_S)
        compiles.append(1)  # what it makes is fused, as Inductor's kernel would be
        return lambda *given: (torch.nn.functional.scaled_dot_product_attention(*given[:3]),)

    attention = torch.compile(flex_attention, backend=backend, dynamic=False)

    def call(length):
        return attention(*(torch.ones(1, 1, length, 16) for _ in range(3)))

    if guarded:
        call(128)
    convert_frame.compile_lock = Counting(convert_frame.compile_lock, arrived)
    calls = [ThreadPoolExecutor(1).submit(call, 128) for _ in range(THREADS)]
    for one in calls:
        assert one.result(BOUND_S).shape == (1, 1, 128, 16)
    counting_scores(scores)
    assert call(256).shape == (1, 1, 256, 16)
    told = f"{len(compiles)} compiles; a new length made scores of {scores or 'no shape'}"
    return ("WRONG" if scores else "CLEAN"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
