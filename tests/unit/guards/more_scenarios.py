"""Schedules for the guards that are not about tracing state. Each returns what went wrong."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from fxrace import guards
from tests.unit.guards.parked import beside, told, until
from tests.unit.guards.pieces import Symptoms, bad

THREADS = 12


def _cold_calls(*, fullgraph: bool) -> tuple[int, list[Any], Any]:
    """Twelve threads call one cold function; the first compile ends when all have missed.

    Returns compiles, results and the function (whose backend counts on).
    """
    compiles: list[int] = []
    missed = threading.Barrier(THREADS + 1)

    def backend(graph: Any, inputs: Any) -> Any:
        compiles.append(1)
        return graph.forward

    def function(x: Any) -> Any:
        return x.sin() + x

    compiled = torch.compile(function, backend=backend, fullgraph=fullgraph)
    import torch._dynamo.convert_frame as convert

    def work() -> Any:
        missed.wait(60)
        return compiled(torch.ones(3))

    results: list[Any] = []
    with convert.compile_lock:
        threads = [
            threading.Thread(target=lambda: results.append(beside(work)), daemon=True)
            for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        missed.wait(60)
        until(lambda: _at_the_lock() >= THREADS)
    for thread in threads:
        thread.join(60)
    return len(compiles), results, lambda *shape: (compiled(torch.ones(*shape)), len(compiles))[1]


def _at_the_lock() -> int:
    """How many threads stand in Dynamo's callback, that is: have missed and wait for the lock."""
    import sys

    frames = list(sys._current_frames().values())
    names = [_names(frame) for frame in frames]
    return sum("CatchErrors" in name for name in names)


def _names(frame: Any) -> str:
    words = []
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith("convert_frame.py") and frame.f_code.co_name == "__call__":
            words.append("CatchErrors")
        if file.endswith("_second_look.py") and frame.f_code.co_name == "callback":
            words.append("CatchErrors")
        frame = frame.f_back
    return " ".join(words)


def duplicate_compiles() -> Symptoms:
    compiles, results, later = _cold_calls(fullgraph=False)
    found = [told(one) for one in results if told(one) != "ok"]
    if compiles != 1:
        found.append(f"{compiles} compiles of one function")
    before, after = compiles, later(4, 4)
    if after != before + 1:
        found.append("a later shape was never compiled")
    if later(3) != after or later(4, 4) != after:
        found.append("a warm call compiled")
    if not all(torch.equal(one, torch.ones(3).sin() + 1) for one in results):
        found.append("a result is wrong")
    return found


def duplicate_compiles_fullgraph() -> Symptoms:
    compiles, results, _ = _cold_calls(fullgraph=True)
    found = [told(one) for one in results if told(one) != "ok"]
    return found + ([f"{compiles} compiles"] if compiles != 1 else [])


def copies_count_for_no_limit() -> Symptoms:
    """The entries that a found graph leaves must not use up the limit of eight."""
    compiles, _, later = _cold_calls(fullgraph=False)
    counts = [later(*[2] * size) for size in range(2, 9)]
    expected = list(range(compiles + 1, compiles + 8))
    return [] if counts == expected else [f"compiles {counts} where {expected} were due"]


def config_in_threads() -> Symptoms:
    from torch._dynamo import config

    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    setattr(config, name, 77)
    seen: dict[str, Any] = {"thread": beside(lambda: getattr(config, name))}
    with ThreadPoolExecutor(1) as pool:
        seen["pool"] = pool.submit(lambda: getattr(config, name)).result()
        setattr(config, name, 78)
        seen["later work"] = pool.submit(lambda: getattr(config, name) - 1).result()
    setattr(config, name, 77)
    me, engine = threading.get_ident(), list[int]()

    def deep(depth: int, x: Any) -> Any:
        if depth:
            return checkpoint(lambda y: deep(depth - 1, y), x, use_reentrant=True)
        if threading.get_ident() != me:
            engine.append(getattr(config, name))
        return x.sin()

    deep(70, torch.ones(2, requires_grad=True)).sum().backward()
    seen["engine thread"] = engine[0]
    seen["this thread"] = getattr(config, name)
    return [f"{where} sees {value}" for where, value in seen.items() if value != 77]


def random_masks(*, reentrant: bool) -> Symptoms:
    masks: list[tuple[Any, ...]] = []

    def region(x: Any) -> Any:
        if not masks:
            beside(lambda: torch.rand(7))
        kept, noise = F.dropout(x, 0.5), torch.rand_like(x)
        others = (torch.rand(3), torch.randn(2), torch.randint(0, 9, (4,)), torch.randperm(5))
        masks.append((kept.detach().clone(), noise, *others))
        return (kept * noise).sum()

    x = torch.ones(64, requires_grad=True)
    out = checkpoint(region, x, use_reentrant=reentrant)
    beside(lambda: torch.rand(5))
    out.backward()
    first, second = masks
    same = all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    found = [] if same else ["the recompute drew other numbers"]
    if not torch.equal(x.grad, first[0] * first[1]):
        found.append("the gradient is wrong")
    return found


def random_masks_reentrant() -> Symptoms:
    return random_masks(reentrant=True)


def random_masks_nonreentrant() -> Symptoms:
    return random_masks(reentrant=False)


def random_stream_of_others() -> Symptoms:
    """A recompute must not set back the stream that another thread draws from."""
    drawn: list[Any] = []

    def region(x: Any) -> Any:
        drawn.append(beside(lambda: torch.rand(8)))
        return F.dropout(x, 0.5).sum()

    x = torch.ones(4, requires_grad=True)
    checkpoint(region, x, use_reentrant=False).backward()
    return ["another thread's numbers were repeated"] if torch.equal(*drawn) else []


def compiled_call_in_region() -> Symptoms:
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: x.sin() * x, backend=counter)
    for _ in range(3):
        x = torch.ones(4, requires_grad=True)
        checkpoint(lambda y: compiled(y).sum(), x, use_reentrant=False).backward()
    return [] if counter.frame_count == 1 else [f"{counter.frame_count} compiles"]


def engine_under_the_lock() -> Symptoms:
    seen: list[bool] = []

    def backend(graph: Any, inputs: Any) -> Any:
        y = torch.ones(2, requires_grad=True)
        y.register_hook(lambda grad: seen.append(torch._C._is_multithreading_enabled()))
        torch.autograd.grad(y.sum(), y)
        return graph.forward

    torch.compile(lambda x: x.sin(), backend=backend)(torch.ones(2))
    z = torch.ones(2, requires_grad=True)
    z.register_hook(lambda grad: seen.append(torch._C._is_multithreading_enabled()))
    z.sum().backward()
    return [] if seen == [False, True] else [f"multithreading under the lock and outside: {seen}"]


def compiles_after_warm_up() -> Symptoms:
    """Frozen after warm-up: a new shape and a cold backward raise, warm calls do not."""
    compiled = torch.compile(lambda x: x.sin() + 1, backend="aot_eager")
    lazy = torch.compile(lambda x: x.sin() + 2, backend="aot_eager")
    x = torch.ones(3, requires_grad=True)
    compiled(x).sum().backward()
    out = lazy(x)
    found = []
    with guards.install("freeze"):
        found += bad(warm=beside(lambda: compiled(x).sum().backward()))
        cold = told(beside(lambda: compiled(torch.ones(4, 5, requires_grad=True))))
        lazy_error = told(beside(lambda: out.sum().backward()))
    for words, error in (
        (("Frozen", "'B'", "(4, 5) float32", "rank mismatch"), cold),
        (("Frozen", "backward"), lazy_error),
    ):
        found += [f"{word} is not in {error}" for word in words if word not in error]
    return found + bad(after=beside(lambda: compiled(torch.ones(4, 5))))


def copied_metadata() -> Symptoms:
    """What is copied of a thread's metadata is its own and stays as it is."""
    from torch.fx import traceback

    traceback.current_meta["stage"] = {"number": 1}
    one, deep = copy.copy(traceback.current_meta), copy.deepcopy(traceback.current_meta)
    found = [] if traceback.current_meta == one == deep == {"stage": {"number": 1}} else ["equal"]
    del traceback.current_meta["stage"]
    found += [] if type(one) is type(deep) is dict and one and deep else ["a live view"]
    found += ["not equal"] if traceback.current_meta == one or traceback.current_meta != {} else []
    return found
