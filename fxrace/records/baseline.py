"""A Baseline: the causes that a project knows and lives with, so that only new ones stop it.

One record for every door that finds something (a sweep, an exploration, a program, a test suite)
and for the catalogue, whose judgements are kept per torch. It is a file in somebody's repository,
so it holds nothing that changes without a reason: no times, no paths, no order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.records.finding import Tier
from fxrace.records.repro import Judgement
from fxrace.records.tally import Tally

SCHEMA, SCHEMA_VERSION = "fxrace.baseline", 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a cause was looked for: the verb (``sweep``, ``explore``, ``run``, ``repro``,
    ``pytest``) and the torch, as it names itself. ``what`` is one test of the suite of known
    hazards, each of which settles for itself what it no longer shows; empty elsewhere.
    """

    verb: str
    torch: str
    what: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """How a cause showed in one place. ``judgement`` is the catalogue's, None elsewhere.

    ``reliability`` is 0 of n only for a script of the catalogue that was run and did not show it.
    """

    place: Place
    reliability: Tally
    judgement: Judgement | None = None

    @property
    def shown(self) -> bool:
        """False where it was looked for and is known not to be."""
        return self.judgement in (None, Judgement.REPRODUCED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One cause. ``fingerprint`` is a finding's, or ``repro:SLUG`` for a script of the catalogue,
    whose ``tier`` is None.
    """

    fingerprint: str
    title: str
    tier: Tier | None
    state: str | None
    hazard: str | None
    seen: tuple[Sighting, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The file. Entries are sorted by fingerprint, sightings by verb, torch and test."""

    schema: str
    schema_version: int
    entries: tuple[Entry, ...]
