"""The JSON documents other programs read. Grow them, never break them.

One document per call; ``schema`` and ``schema_version`` come first. The JSON Schemas generated
from these classes are published in ``fxrace/schemas``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fxrace.records.environment import Environment
from fxrace.records.finding import Side, Tier, Value
from fxrace.records.outcome import ThreadStack, Throughput
from fxrace.records.stuck import Classification, Edge, ThreadRow
from fxrace.records.tally import Spread, Tally
from fxrace.records.trial import Setting
from fxrace.records.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """One trial of a sweep. ``replay`` is the shell command that runs it again.

    ``stacks`` is where each thread of a hung trial stood, empty for the others.
    """

    digest: str
    knobs: Mapping[str, str]
    seed: int
    repeat: int
    verdict: Verdict
    symptom: str
    duration_s: float
    findings: tuple[str, ...]
    throughput: Throughput | None
    compiles: int
    peak_memory_bytes: int | None
    notes: tuple[str, ...]
    replay: str
    stacks: tuple[ThreadStack, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRow:
    """All repeats of one combination of knobs. ``throughput`` is draft slots per second."""

    knobs: Mapping[str, str]
    verdicts: Mapping[str, int]
    failure_rate: Tally
    throughput: Spread | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingRow:
    """One cause over the whole run, with the trials it was seen in.

    ``suppressed`` is the reason that somebody gave for living with it, None where nobody did.
    """

    fingerprint: str
    title: str
    pattern: str
    tier: Tier
    state: str | None
    hazard: str | None
    sides: tuple[Side, ...]
    symptoms: tuple[str, ...]
    value: Value
    token: str
    replay: str
    repro: str | None
    reliability: Tally
    remedy: str
    references: tuple[str, ...]
    trials: tuple[str, ...]
    suppressed: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepDocument:
    """What ``fxrace sweep --json`` prints and the report is drawn from."""

    schema: str
    schema_version: int
    run: str
    environment: Environment
    settings: Mapping[str, Setting]
    axes: Mapping[str, tuple[str, ...]]
    trials: tuple[TrialRow, ...]
    cells: tuple[CellRow, ...]
    findings: tuple[FindingRow, ...]
    blind: tuple[tuple[str, str], ...]
    interrupted: bool
    report: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDocument:
    """What ``fxrace run --json`` prints. ``command`` is the program's own command line.

    ``exit_status`` is what a shell would have shown for the program (128 + n for a signal): the
    first of its runs that is not 0. ``torch`` is None when the program never imported it, and
    then nothing was watched. ``regions`` counts by kind over all runs and processes; ``overlaps``
    counts those entered while another thread had one open. ``record`` holds the raw events.
    """

    schema: str
    schema_version: int
    command: tuple[str, ...]
    exit_status: int
    timed_out: bool
    runs: int
    torch: str | None
    findings: tuple[FindingRow, ...]
    regions: Mapping[str, int]
    overlaps: int
    blind: tuple[tuple[str, str], ...]
    record: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayDocument:
    """What ``fxrace replay --json`` prints. ``reproduced`` counts runs that gave the stored verdict
    and, where there were findings, at least one of them.
    """

    schema: str
    schema_version: int
    environment: Environment
    trial: TrialRow
    runs: tuple[TrialRow, ...]
    reproduced: Tally
    interrupted: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DumpDocument:
    """What ``fxrace dump --json`` prints. ``circle`` is the closed chain of a deadlock, in order,
    else empty; ``waits`` are all waits that were seen. ``record`` is the event file that helped.
    """

    schema: str
    schema_version: int
    pid: int
    classification: Classification
    reason: str
    circle: tuple[Edge, ...]
    threads: tuple[ThreadRow, ...]
    waits: tuple[Edge, ...] = ()
    record: str | None = None
    pause_s: float = 1.0
    duration_s: float = 0.0
    blind: tuple[tuple[str, str], ...] = ()
