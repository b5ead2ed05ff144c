"""Slot k predicts token a + k + 1 and slot 0 is trained too, as in DSpark and DeepSpec.

Decoding must use the same convention: mixing the two ruins acceptance at an unchanged loss.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.numerics import Convention


def build() -> Convention:
    return Convention(first=0, offset=1)


part = Part(build=build)
