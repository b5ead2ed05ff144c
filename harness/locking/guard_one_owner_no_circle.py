"""No lock of the harness: the guards one_owner and no_circle together."""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.guarded import Guarded

part = Part(build=Guarded("one_owner", "no_circle"))
