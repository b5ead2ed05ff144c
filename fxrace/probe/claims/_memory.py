"""The most memory that a piece of work held at once, beyond what was held before it.

On CUDA the caching allocator knows. On the CPU the profiler hears of every allocation, those of
compiled kernels and of other threads included, which a dispatch mode would not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench


def peak_bytes(bench: Bench, work: Callable[[], Any]) -> int:
    """Run ``work`` twice and measure the second time: the first may compile and warm libraries."""
    work()
    return _on_cuda(bench, work) if bench.cuda else _on_cpu(work)


def _on_cuda(bench: Bench, work: Callable[[], Any]) -> int:
    import torch

    torch.cuda.synchronize(bench.device)
    torch.cuda.reset_peak_memory_stats(bench.device)
    before = torch.cuda.memory_allocated(bench.device)
    work()
    torch.cuda.synchronize(bench.device)
    return int(torch.cuda.max_memory_allocated(bench.device)) - int(before)


def _on_cpu(work: Callable[[], Any]) -> int:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        work()
    events = seen.profiler.kineto_results.events()
    sizes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = most = 0
    for _, size in sizes:
        held += size
        most = max(most, held)
    return most
