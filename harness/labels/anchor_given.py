"""Slot k predicts token a + k; slot 0 holds the anchor and predicts nothing, as in DFlash."""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.numerics import Convention


def build() -> Convention:
    return Convention(first=1, offset=0)


part = Part(build=build, default=True)
