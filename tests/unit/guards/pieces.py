"""What the schedules are made of: models, traces and compiles that stop in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tests.unit.guards.parked import told

Symptoms = list[str]


def warm() -> Callable[[Any], Any]:
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    compiled(torch.ones(2))
    return compiled


class Model(torch.nn.Module):
    def __init__(self, pause: Callable[[], None]) -> None:
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.second = torch.nn.Linear(2, 2)
        self._pause = pause

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        self._pause()
        return self.second(x)


def symbolic(pause: Callable[[], None]) -> Any:
    return torch.fx.Tracer().trace(Model(pause))


def made_by_make_fx(pause: Callable[[], None]) -> Any:
    return make_fx(lambda x: (pause(), x.sin())[1])(torch.ones(2)).graph


def nodes(graph: Any) -> list[str]:
    return [f"{node.op}:{node.target}" for node in graph.nodes]


MODEL_NODES = ["placeholder:x", "call_module:first", "call_module:second", "output:output"]


def backend_that(pause: Callable[[], None]) -> Callable[..., Any]:
    def backend(graph: Any, inputs: Any) -> Any:
        make_fx(lambda x: (pause(), x.sin())[1])(torch.ones(2))
        return graph.forward

    return backend


def compiling(pause: Callable[[], None]) -> Any:
    return torch.compile(lambda x: x + 2, backend=backend_that(pause))(torch.ones(2))


def bad(**results: Any) -> Symptoms:
    return [f"{name}: {told(value)}" for name, value in results.items() if told(value) != "ok"]
