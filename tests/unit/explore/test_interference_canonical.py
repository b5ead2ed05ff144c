"""Results as plain values: equal where a program could not tell, one sentence where it could."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from fxrace.probe.explore.canonical import (
    canonical,
    differs_from_all,
    outcomes_differ,
    raised,
    returned,
)


def traced(*functions: str) -> torch.fx.GraphModule:
    def run(x: torch.Tensor) -> torch.Tensor:
        for name in functions:
            x = getattr(torch, name)(x)
        return x

    return torch.fx.symbolic_trace(run)


EQUAL: list[tuple[Any, Any]] = [
    (torch.ones(2), torch.ones(2)),
    (torch.tensor(float("nan")), torch.tensor(float("nan"))),
    ({"a": (1, 2.0)}, {"a": [1, 2.0]}),
    (traced("sin", "cos").graph, traced("sin", "cos").graph),
    (traced("sin"), traced("sin")),
    (object(), object()),
    (torch.sin, torch.sin),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (torch.ones(2), torch.zeros(2)),
    (torch.ones(2), torch.ones(2, dtype=torch.float64)),
    (torch.ones(2), torch.ones(2, requires_grad=True)),
    (torch.ones(2), torch.ones(2, device="meta")),
    (traced("sin", "cos").graph, traced("cos", "sin").graph),
    (traced("sin").graph, traced("sin", "sin").graph),
    (True, 1),
    ({"a": 1}, {"b": 1}),
    (torch.sin, torch.cos),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_what_cannot_be_told_apart_is_equal(one: Any, other: Any) -> None:
    assert outcomes_differ(returned(one), returned(other)) is None


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_can_be_told_apart_differs(one: Any, other: Any) -> None:
    assert outcomes_differ(returned(one), returned(other))


@pytest.mark.parametrize("value", [pair[0] for pair in EQUAL + DIFFERENT])
def test_it_crosses_a_pipe(value: Any) -> None:
    crossed = json.loads(json.dumps(returned(value)))
    assert outcomes_differ(crossed, returned(value)) is None


def test_errors_compare_by_type() -> None:
    first, second, other = (raised(e) for e in (KeyError("a"), KeyError("b"), ValueError("a")))
    assert outcomes_differ(first, second) is None
    assert outcomes_differ(first, other)
    assert outcomes_differ(first, returned(1))
    assert outcomes_differ(returned(1), first)


def test_a_difference_is_one_that_no_allowed_outcome_has() -> None:
    before, after = returned({"a": 0, "b": 0}), returned({"a": 1, "b": 0})
    assert differs_from_all(returned({"a": 1, "b": 0}), [before, after]) is None
    said = differs_from_all(returned({"a": 1, "b": 7}), [before, after])
    assert said is not None and said.startswith("b is 7")


def test_a_module_is_read_without_its_getattr(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other thread may have patched it, and asking through it would change its trace."""
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    graph_module = traced("sin")

    def refuses(self: Any, name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(torch.nn.Module, "__getattr__", refuses)
    assert canonical(module)["modules"]
    assert canonical(graph_module)["graph"]
