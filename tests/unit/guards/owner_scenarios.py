"""Schedules that only one_owner takes in turns. Each returns what went wrong."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._export.serde.serialize import GraphModuleDeserializer
from torch.fx.experimental import proxy_tensor

from tests.unit.guards.parked import beside
from tests.unit.guards.pieces import Symptoms, bad


def traces_at_once() -> Symptoms:
    """B's trace must not begin while A traces. A spins: an owner that waits would let B in."""
    torch.compile(lambda x: x + 2, backend="eager")(torch.ones(3))  # what the first one does once
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
    early.append(beside(lambda: compiled(torch.ones(3)), 2))
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


def make_fx_then_export() -> Symptoms:
    """An export must not begin while A has its modes on the stack and has not begun to trace."""
    export_of_a_module()  # what the first one does once
    early, late, a = held_in(
        proxy_tensor, "wrap_key",
        lambda: proxy_tensor.make_fx(lambda x: x + 1)(torch.ones(3)), export_of_a_module,
    )  # fmt: skip
    found = bad(a=a, late=late)
    return found if early == "waits" else [*found, f"it exports meanwhile: {early}"]


def loads_at_once() -> Symptoms:
    """The deserializer that runs is a variable of the module."""
    stored = io.BytesIO()
    torch.export.save(export_of_a_module(), stored)

    def load() -> Any:
        return torch.export.load(io.BytesIO(stored.getvalue()))

    load()
    early, late, a = held_in(GraphModuleDeserializer, "deserialize_graph", load, load)
    found = bad(a=a, late=late)
    return found if early == "waits" else [*found, f"it loads meanwhile: {early}"]


def saves_at_once() -> Symptoms:
    """While it writes, a save has its reducer of fake tensors in everybody's ``copyreg``."""
    program = export_of_a_module()

    def save() -> Any:
        stored = io.BytesIO()
        torch.export.save(program, stored)
        return stored.getvalue()

    save()
    early, late, a = held_in(torch, "save", save, save)
    found = bad(a=a, late=late)
    return found if early == "waits" else [*found, f"it saves meanwhile: {early}"]


def export_of_a_module() -> Any:
    return torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))


def held_in(
    holder: Any, name: str, work: Callable[[], Any], other: Callable[[], Any]
) -> tuple[Any, Any, Any]:
    """A spins at its first call of ``holder.name``. ``other`` tried meanwhile, again after A has
    ended, and what A gave."""
    inner, began = getattr(holder, name), threading.Event()
    state = {"go": False, "first": True}

    def spin(*args: Any, **kwargs: Any) -> Any:
        if state["first"]:
            state["first"] = False
            began.set()
            while not state["go"]:
                pass
        return inner(*args, **kwargs)

    setattr(holder, name, spin)
    try:
        results: list[Any] = []
        a = threading.Thread(target=lambda: results.append(beside(work)), daemon=True)
        a.start()
        assert began.wait(60)
        early = beside(other, 5)
        state["go"] = True
        a.join(60)
        return early, beside(other), results[0]
    finally:
        setattr(holder, name, inner)
