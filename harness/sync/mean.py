"""Gradients are averaged in every step, at a barrier; each drafter divides its own loss.

The mean of ratios is not the ratio of sums: a drafter with few supervised slots counts as much
per step as one with many. That is what most public trainers do.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.sharing import MeanOfGradients


def build() -> MeanOfGradients:
    return MeanOfGradients()


part = Part(build=build)
