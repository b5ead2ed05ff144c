"""As mean, but one coordinator thread does all adding: drafters hand over and wait.

On GPUs of their own it uses one NCCL communicator from that one thread, which is the only way
NCCL may be used by a program of many threads.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.sharing import MeanOfGradients


def build() -> MeanOfGradients:
    return MeanOfGradients(carrier="coordinator")


part = Part(build=build)
