"""All that is known about one trial once its process has ended."""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.core.curve import Reference
from fxrace.records.event import Trace
from fxrace.records.outcome import Ending
from fxrace.records.trial import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What detectors and the judge read. ``reference`` is None for a reference trial itself."""

    trial: Trial
    trace: Trace
    ending: Ending
    reference: Reference | None
