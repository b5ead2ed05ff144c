"""What ``fxrace explore`` says: one row per pair of operations, and the causes behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fxrace.records.document import FindingRow
from fxrace.records.environment import Environment
from fxrace.records.tally import Tally
from fxrace.records.trial import Setting


class PairVerdict(str, Enum):
    """What is known of one ordered pair.

    ``safe`` holds up to the bound that the row states, and no further. ``blocked``: wherever the
    one was stopped the other waited for a lock, so nothing was tried against it.
    """

    SAFE = "safe"
    FINDING = "finding"
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationFile:
    """An operation as its file describes itself, read without running it.

    ``observes``: it changes nothing and only ever runs while another is stopped. ``cost`` is
    cheap, medium or expensive. ``quick`` puts it into the quick matrix. ``problem`` is why the
    file cannot be used, else None.
    """

    name: str
    help: str
    observes: bool = False
    cost: str = "cheap"
    quick: bool = False
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRow:
    """``a`` is stopped, ``b`` runs meanwhile.

    ``points`` is how many points ``a`` passes at this grain, ``stopped`` at how many of them it
    was stopped; ``schedules`` counts all runs, confirmations included. ``exhausted`` means that
    every schedule up to ``preemption_bound`` was tried. ``slips`` counts hand-overs that a thread
    stuck outside our sight forced, ``blocked`` the points at which ``b`` waited for a lock that
    ``a`` held. ``differences`` counts schedules that came out unlike running alone;
    ``findings`` are the fingerprints of their causes. ``replay`` is the command for this pair.
    """

    a: str
    b: str
    grain: str
    strategy: str
    points: int
    stopped: int
    schedules: int
    preemption_bound: int
    exhausted: bool
    slips: int
    blocked: int
    differences: int
    verdict: PairVerdict
    reason: str
    findings: tuple[str, ...]
    duration_s: float
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExploreDocument:
    """What ``fxrace explore --json`` prints and the matrix is drawn from.

    ``operations`` is name -> what it does, or why it cannot run here. ``trials`` of a finding are
    digests of pairs.
    """

    schema: str
    schema_version: int
    run: str
    environment: Environment
    settings: Mapping[str, Setting]
    operations: Mapping[str, str]
    pairs: tuple[PairRow, ...]
    findings: tuple[FindingRow, ...]
    blind: tuple[tuple[str, str], ...]
    interrupted: bool
    report: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenDocument:
    """What ``fxrace replay TOKEN --json`` prints: one schedule of ``a`` and ``b``, played again.

    ``reproduced`` counts the times it showed the cause ``fingerprint``, ``exact`` the times it
    came to the same points in the same order; ``drift`` is the first step that did not.
    ``fingerprints`` counts what was shown, ``""`` for nothing. ``problem`` is why none was played.
    """

    schema: str
    schema_version: int
    environment: Environment
    token: str
    a: str
    b: str
    fingerprint: str
    reproduced: Tally
    exact: int
    drift: str
    fingerprints: Mapping[str, int]
    problem: str
