"""No lock of the harness: the guard isolated, installed for the trial."""

from __future__ import annotations

from fxrace.probe.part import Part
from harness.guarded import Guarded

part = Part(build=Guarded("isolated"))
