"""Detectors: one pattern per file, Evidence in, Findings out. The folder is the registry.

Each module holds ``detector = Detector(find=...)``. A detector knows a pattern, not a State;
attribution to a State goes through ``core.states``. Findings of tiers T0 to T2 must have no
false positives, given a reference that agrees with itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fxrace.core.causes import joined
from fxrace.core.evidence import Evidence
from fxrace.records.finding import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class Detector:
    """One pattern. ``find`` is pure and never raises on a cut-off trace."""

    find: Callable[[Evidence], tuple[Finding, ...]]


def detectors() -> dict[str, Detector]:
    """Every detector in the folder, by file name."""
    return {
        module.name: importlib.import_module(f"{__name__}.{module.name}").detector
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    }


def findings_in(evidence: Evidence) -> tuple[Finding, ...]:
    """What all detectors find in one trial, one finding per cause."""
    return joined(claims_in(evidence))


def claims_in(evidence: Evidence) -> Iterator[Finding]:
    """What each detector claims, before claims with one cause are joined."""
    return (
        replace(finding, pattern=name)
        for name, detector in detectors().items()
        for finding in detector.find(evidence)
    )
