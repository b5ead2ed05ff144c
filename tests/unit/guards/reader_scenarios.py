"""Schedules for the guard readers_writer. Each returns what went wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from fxrace import guards
from tests.unit.guards.parked import Parked, beside, told, until
from tests.unit.guards.pieces import Model, Symptoms, bad, symbolic


def eager_module_that_says_it_runs() -> Symptoms:
    plain = torch.nn.Linear(2, 2)
    tracing, go = threading.Event(), threading.Event()

    def work() -> Any:
        with guards.running():
            go.wait(60)
            return plain(torch.ones(2))

    b = threading.Thread(target=lambda: results.append(beside(work)), daemon=True)
    results: list[Any] = []
    b.start()
    until(lambda: _readers() == 1)

    def traced(pause: Callable[[], None]) -> Any:
        tracing.set()
        return torch.fx.Tracer().trace(Model(pause))

    a = threading.Thread(target=lambda: results.append(beside(lambda: traced(lambda: None))))
    a.start()
    assert tracing.wait(60)
    met = beside(lambda: traced(lambda: None), 0.5)
    go.set()
    b.join(60)
    a.join(60)
    found = [told(one) for one in results if told(one) != "ok"]
    return found + ([] if met == "waits" else ["a trace ran beside a reader"])


def running_beside_trace() -> Symptoms:
    """The other way round: a reader waits for the trace."""
    plain = torch.nn.Linear(2, 2)
    a = Parked(symbolic)

    def work() -> Any:
        with guards.running():
            return plain(torch.ones(2))

    results: list[Any] = []
    b = threading.Thread(target=lambda: results.append(beside(work)), daemon=True)
    b.start()
    b.join(0.5)
    found = bad(a=a.go())
    b.join(60)
    return found + [told(one) for one in results if told(one) != "ok"]


def readers_that_come_to_trace() -> Symptoms:
    """Two readers trace at once: each gives its share up, and has it back afterwards."""
    both = threading.Barrier(2)
    order: list[str] = []

    def work() -> Any:
        with guards.running(), guards.running():
            both.wait(60)
            order.append("in")
            graph = torch.fx.symbolic_trace(lambda x: x + 1)
            with guards.tracing(), guards.tracing():
                order.append("out")
            with guards.running():
                return graph

    one = threading.Thread(target=lambda: order.append(told(beside(work, 20))), daemon=True)
    one.start()
    other = beside(work, 20)
    one.join(30)
    found = [word for word in (told(other), *order) if word not in ("ok", "in", "out")]
    if other == "waits":
        found.append("two readers wait for each other")
    if _readers():
        found.append("a share of reading is left over")
    return found


def _readers() -> int:
    from fxrace.guards.readers_writer import gate

    return len(gate._readers)
