"""The documents that compare: two runs, a run with a baseline, and one cause over many runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fxrace.records.baseline import Entry
from fxrace.records.finding import Tier
from fxrace.records.suppression import Suppression
from fxrace.records.tally import Spread, Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A run or document that is compared. ``trials`` counts those that say something."""

    name: str
    verb: str
    run: str
    torch: str
    python: str
    machine: str
    trials: int


class Change(str, Enum):
    """What became of a cause. UNASKED: the later run did not try where the earlier one saw it.

    MORE and LESS need two 95 % intervals that share no rate; anything nearer is SAME.
    """

    NEW = "new"
    GONE = "gone"
    MORE = "more"
    LESS = "less"
    SAME = "same"
    UNASKED = "unasked"


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingChange:
    """One cause in both runs. The rates count the same cells in both, None where nothing of them
    ran; ``beyond_chance`` says whether the two intervals are apart.
    """

    fingerprint: str
    title: str
    tier: Tier
    state: str | None
    hazard: str | None
    change: Change
    before: Tally | None
    after: Tally | None
    beyond_chance: bool
    replay: str
    suppressed: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CellChange:
    """One cell (or pair, with the knobs ``a`` and ``b``) in both runs.

    ``failures`` and ``speed`` tell beyond what chance allows: MORE, LESS or SAME.
    """

    knobs: Mapping[str, str]
    before: Mapping[str, int]
    after: Mapping[str, int]
    failures_before: Tally
    failures_after: Tally
    failures: Change
    throughput_before: Spread | None
    throughput_after: Spread | None
    speed: Change


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffDocument:
    """What ``fxrace diff --json`` prints. ``cells`` are those whose verdicts or speed changed,
    ``unchanged`` counts the other common ones; ``only_before`` and ``only_after`` count the rest.
    """

    schema: str
    schema_version: int
    before: Subject
    after: Subject
    findings: tuple[FindingChange, ...]
    cells: tuple[CellChange, ...]
    unchanged: int
    only_before: int
    only_after: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GateDocument:
    """What ``fxrace gate --json`` prints. ``blocking`` are the fingerprints that fail the gate;
    ``suppressed`` maps a fingerprint to the reason, ``replay`` to the command that shows it again.
    """

    schema: str
    schema_version: int
    baseline: str
    subject: Subject
    blocking: tuple[str, ...]
    new: tuple[Entry, ...]
    known: tuple[Entry, ...]
    fixed: tuple[Entry, ...]
    broken: tuple[Entry, ...]
    suppressed: Mapping[str, str]
    unused: tuple[Suppression, ...]
    expired: tuple[Suppression, ...]
    replay: Mapping[str, str]
    updated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Appearance:
    """One run that looked where a cause was ever seen: it showed in ``seen``, 0 of n included."""

    run: int
    started: str
    verb: str
    torch: str
    seen: Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """One cause over the runs of a store, the oldest first. ``first`` and ``last`` are the numbers
    of the runs that saw it.
    """

    fingerprint: str
    title: str
    tier: Tier
    state: str | None
    hazard: str | None
    first: int
    last: int
    runs: tuple[Appearance, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryDocument:
    """What ``fxrace history --json`` prints."""

    schema: str
    schema_version: int
    store: str
    runs: int
    lives: tuple[Life, ...]
