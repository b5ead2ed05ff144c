"""Where a point of a schedule lies in torch, as an emitted script names it."""

from __future__ import annotations

import pytest

from fxrace.probe.explore.places import Place, place_of


@pytest.mark.parametrize(
    ("point", "place"),
    [
        (
            "torch/fx/graph.py:Graph.lint",
            Place(event="call", module="torch.fx.graph", name="Graph.lint"),
        ),
        (
            "torch.fx.graph:Graph.lint#1",
            Place(event="call", module="torch.fx.graph", name="Graph.lint"),
        ),
        (
            "torch/fx/__init__.py:wrap#2",
            Place(event="call", module="torch.fx", name="wrap", visit=2),
        ),
        (
            "trace:enter#2",
            Place(event="call", module="torch.fx._symbolic_trace", name="Tracer.trace", visit=2),
        ),
        (
            "trace:exit#1",
            Place(event="return", module="torch.fx._symbolic_trace", name="Tracer.trace"),
        ),
        (
            "fx.patcher:write#2",
            Place(
                event="write",
                module="torch.fx._symbolic_trace",
                name="CURRENT_PATCHER",
                visit=2,
            ),
        ),
        ("compile_lock:acquire#1", None),
        ("no.such.state:write#1", None),
        ("blocked:compile_lock", None),
        ("start#0", None),
    ],
)
def test_points_and_their_places(point: str, place: Place | None) -> None:
    assert place_of(point) == place
