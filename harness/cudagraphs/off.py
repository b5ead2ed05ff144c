"""No graph: every kernel is launched anew in every step."""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.graphs import Live


def build() -> Live:
    return Live(mode=None)


part = Part(build=build, default=True)
