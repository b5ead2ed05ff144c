"""What the pytest plugin says: one row per test that was watched or explored, and the causes.

The suite of known hazards is such a run too; then ``results`` holds what its scripts showed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fxrace.records.document import FindingRow
from fxrace.records.exploration import PairVerdict
from fxrace.records.hazard import Hazard
from fxrace.records.repro import ReproRow


class Became(str, Enum):
    """What a test became by what was found."""

    PASSED = "passed"
    FAILED = "failed"
    KNOWN = "known"
    """Only causes that are known: an expected failure."""
    NOTHING = "nothing"
    """Nothing can be said: a skip."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTest:
    """One test. ``mode`` is observe, explore or replay; ``schedules`` is 0 where it was only
    watched. ``findings`` are the fingerprints of its causes, ``known`` those of them that are
    known. ``exhausted``: every schedule up to the bound was tried.
    """

    test: str
    mode: str
    verdict: PairVerdict
    became: Became
    reason: str
    findings: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    seed: int = 0
    strategy: str = ""
    schedules: int = 0
    exhausted: bool = False
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PytestDocument:
    """What ``--fxrace-report`` writes. ``complete`` is False where tests were left out, failed
    before fxrace could say anything, or were interrupted: then what is missing is not fixed.
    """

    schema: str
    schema_version: int
    torch: str
    mode: str
    seed: int
    complete: bool
    tests: tuple[JudgedTest, ...]
    findings: tuple[FindingRow, ...]
    results: tuple[ReproRow, ...] = ()
    hazards: tuple[Hazard, ...] = ()
