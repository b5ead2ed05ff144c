"""Each drafter updates alone; every 4 steps their weights are averaged.

Optimizer states stay where they are, as in local SGD.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.sharing import AverageOfWeights


def build() -> AverageOfWeights:
    return AverageOfWeights(every=4)


part = Part(build=build)
