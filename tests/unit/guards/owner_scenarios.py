"""Schedules that only one_owner takes in turns. Each returns what went wrong."""

from __future__ import annotations

import threading
from typing import Any

import torch

from tests.unit.guards.parked import beside
from tests.unit.guards.pieces import Symptoms, bad


def traces_at_once() -> Symptoms:
    """B's trace must not begin while A traces. A spins: an owner that waits would let B in."""
    state = {"go": False, "inside": False, "met": False}
    began = threading.Event()

    def spin(x: Any) -> Any:
        state["inside"] = True
        began.set()
        while not state["go"]:
            pass
        state["inside"] = False
        return x

    def look(x: Any) -> Any:
        state["met"] = state["met"] or state["inside"]
        return x

    a = threading.Thread(target=lambda: torch.fx.symbolic_trace(spin), daemon=True)
    a.start()
    assert began.wait(60)
    compiled = torch.compile(lambda x: look(x) + 1, backend="eager")
    early = [beside(lambda: torch.fx.symbolic_trace(look), 0.7)]
    early.append(beside(lambda: compiled(torch.ones(3)), 0.7))
    state["go"] = True
    a.join(60)
    return [] if early == ["waits", "waits"] else [f"others trace meanwhile: {early}"]


def helper_thread_in_compile() -> Symptoms:
    """The backend joins a thread that itself must compile."""
    seen: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        helper = torch.compile(lambda x: x.cos(), backend="eager")
        seen.append(beside(lambda: helper(torch.ones(1)), 5))
        return graph.forward

    result = beside(lambda: torch.compile(lambda x: x + 3, backend=backend)(torch.ones(2)))
    found = bad(a=result)
    if not isinstance(seen[0], torch.Tensor):
        found.append(f"the helper {seen[0]}")
    return found
