"""What one script of the catalogue did under one interpreter, and the documents made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fxrace.records.hazard import Hazard
from fxrace.records.verdict import Verdict


class Twin(str, Enum):
    """Which of a script's two programs ran: with the hazard, or with its remedy applied."""

    RACY = "racy"
    GUARDED = "guarded"


class Judgement(str, Enum):
    """What the runs of a script say about its header on one torch."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not_reproduced"
    NOT_APPLICABLE = "not_applicable"
    BROKEN = "broken"


@dataclass(frozen=True, kw_only=True, slots=True)
class Torch:
    """An interpreter and the version of its torch."""

    python: Path
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptEnd:
    """How a script ended: an exit status (negative: minus the signal's number), None when it was
    stopped at its limit or by the user; ``line`` is the last it printed, ``error`` the last on
    standard error.
    """

    status: int | None
    line: str
    error: str
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptRun:
    """One run of one twin: its verdict and the reason that it, or the judge, gives."""

    verdict: Verdict
    reason: str
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TwinRow:
    """All runs of one twin: ``k`` of ``n`` ended in ``verdict``, the gravest that was seen.

    ``verdict`` is None and ``n`` 0 when the twin was not run.
    """

    verdict: Verdict | None
    k: int
    n: int
    reason: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ReproRow:
    """One hazard under one interpreter. ``torch`` is its version as it names itself."""

    slug: str
    python: str
    torch: str
    racy: TwinRow
    guarded: TwinRow
    judgement: Judgement
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReproDocument:
    """What ``fxrace repro --json`` prints. ``problems`` maps scripts without a usable header to
    the reason. With ``--list`` there are hazards and no results.
    """

    schema: str
    schema_version: int
    results: tuple[ReproRow, ...]
    hazards: tuple[Hazard, ...]
    problems: Mapping[str, str]
    interrupted: bool


class Sight(str, Enum):
    """What the racy twin showed under one torch of a bisection."""

    SHOWS = "shows"
    ABSENT = "absent"
    SKIPPED = "skipped"
    UNTESTED = "untested"


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionRow:
    """One torch of a bisection: the hazard showed in ``k`` of ``n`` runs.

    ``confidence`` is the probability that ``sight`` is right: 1 for a hazard that was seen, else
    what ``n`` runs without it are worth given how often it shows where it is known to.
    """

    torch: str
    python: str
    sight: Sight
    k: int
    n: int
    confidence: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Boundary:
    """``before`` and ``at`` are the neighbouring torches between which the hazard came or went;
    those in ``between`` could not be judged. None where the row of versions has no such end.
    """

    before: str
    at: str
    between: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectDocument:
    """What ``fxrace bisect --json`` prints. ``since`` is where the hazard came, ``fixed_in`` where
    it went; ``declared`` is what the header says of both. ``runs`` counts processes.
    """

    schema: str
    schema_version: int
    slug: str
    versions: tuple[VersionRow, ...]
    since: Boundary | None
    fixed_in: Boundary | None
    declared: tuple[str, str | None]
    agrees: bool | None
    runs: int
    interrupted: bool
