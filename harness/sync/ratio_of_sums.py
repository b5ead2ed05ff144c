"""Gradients of the numerators are added and divided by the sum of all weights: one big batch.

This is what a single drafter would compute on the rows of all of them together.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.sharing import RatioOfSums


def build() -> RatioOfSums:
    return RatioOfSums()


part = Part(build=build)
