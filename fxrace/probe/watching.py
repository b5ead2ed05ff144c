"""What a hook family is given: where events go, who is inside what, and what pushes.

One record, so that a family that needs a further thing costs no change in the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.probe.pressure import Pressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions


@dataclass(frozen=True, kw_only=True, slots=True)
class Watching:
    """One program under watch."""

    recorder: Recorder
    regions: Regions
    pressure: Pressure
