"""Recompute with use_reentrant=False: forward with grad, again when backward needs it.

The graph with grad compiles in forward, so backward finds it warm.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.recompute import Kind, Recompute


def build() -> Recompute:
    return Recompute(Kind.NON_REENTRANT)


part = Part(build=build, default=True)
