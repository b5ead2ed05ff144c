"""Recompute with use_reentrant=True: forward without grad, again inside backward.

Grad mode is a guard, so forward compiles the graph without grad and the graph with grad
compiles in backward, where no lock round a forward call reaches.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.recompute import Kind, Recompute


def build() -> Recompute:
    return Recompute(Kind.REENTRANT)


part = Part(build=build, default=True)
