"""Inductor's own graphs (mode reduce-overhead) inside every compiled call.

Its graph trees belong to the thread that first compiled and refuse to run elsewhere; expect
drafters' threads to fail on it. See pytorch/pytorch#123177.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.graphs import Live, needs_cuda


def build() -> Live:
    return Live(mode="reduce-overhead")


part = Part(build=build, refuse=needs_cuda)
