"""Each drafter's forward and backward, and each target's forward, captured once per row length.

Captured in thread-local error mode, so that what other threads launch meanwhile does not spoil
it, and beside no step that may wait for the device. The first two steps of a length run live: they
compile what the third captures.
"""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.graphs import Captured, needs_cuda


def build() -> Captured:
    return Captured()


part = Part(build=build, refuse=needs_cuda)
