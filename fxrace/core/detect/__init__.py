"""Detectors: one pattern per file, Evidence in, Findings out. The folder is the registry.

Each module holds ``detector = Detector(find=...)``. A detector knows a pattern, not a State;
attribution to a State goes through ``core.states``. Findings of tiers T0 to T2 must have no
false positives, given a reference that agrees with itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

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
    """What all detectors find in one trial; equal causes are merged, their symptoms kept."""
    found = [
        replace(finding, pattern=name)
        for name, detector in detectors().items()
        for finding in detector.find(evidence)
    ]
    return merged(found)


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per fingerprint: the one that shows most sides, with everybody's symptoms."""
    by_cause: dict[str, Finding] = {}
    for finding in findings:
        known = by_cause.get(finding.fingerprint, finding)
        best = max(known, finding, key=lambda f: sum(1 for side in f.sides if side.stack))
        symptoms = tuple(dict.fromkeys((*known.symptoms, *finding.symptoms)))
        by_cause[finding.fingerprint] = replace(best, symptoms=symptoms)
    return tuple(by_cause.values())
