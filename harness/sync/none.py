"""Drafters are independent: each its own weights, none waits for another, as in the field."""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.sharing import Nothing


def build() -> Nothing:
    return Nothing()


part = Part(build=build, default=True)
