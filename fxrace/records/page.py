"""What a report page shows: exhibits beside its document, and the data its scripts draw from.

The page holds one JSON document, ``PageDocument``. The surprise: trials, cells and spans are
arrays, not objects, and texts are numbers into ``texts``: ten thousand trials have to open at
once in one file. The named tuples below say what stands where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from fxrace.records.hazard import Hazard
from fxrace.records.stuck import Edge


class LaneKind(str, Enum):
    """Whose lane it is. DEVICE is a thread of autograd's engine, which Python did not start."""

    MAIN = "main"
    THREAD = "thread"
    DEVICE = "device"


class MarkKind(str, Enum):
    """What a point on a timeline tells."""

    COLLISION = "collision"
    RAISED = "raised"
    LEAK = "leak"
    MET = "met"
    PHASE = "phase"
    STEP = "step"


class Lane(NamedTuple):
    """One thread."""

    thread: str
    ident: int
    kind: LaneKind


class Span(NamedTuple):
    """A region, or a wait for a lock (``kind`` "lock wait"). Times in seconds since the trial
    process began; ``end_s`` is None where the record ends inside. ``lane`` counts lanes, ``depth``
    is how many regions of the lane it lies in; ``kind`` and ``name`` count ``Timeline.texts``.
    """

    lane: int
    begin_s: float
    end_s: float | None
    depth: int
    kind: int
    name: int


class Mark(NamedTuple):
    """A point in time on one lane."""

    lane: int
    at_s: float
    kind: MarkKind
    told: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """What a trial recorded. ``left_out`` counts spans that are not shown."""

    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]
    texts: tuple[str, ...]
    end_s: float
    left_out: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One decisive event of a finding: on which ``side``, what, and whether it is the swap, the
    event whose order with the one before makes the difference. ``at_s`` is None where no clock ran.
    """

    side: int
    told: str
    at_s: float | None = None
    swap: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibits:
    """What stands beside a document and is not in it. ``scripts`` and ``moments`` go by
    fingerprint, ``timelines`` and ``waits`` (the circle when there is one, else all waits) by the
    digest of a trial.
    """

    scripts: Mapping[str, str] = field(default_factory=dict)
    moments: Mapping[str, tuple[Moment, ...]] = field(default_factory=dict)
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    waits: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)
    hazards: tuple[Hazard, ...] = ()


class CellLine(NamedTuple):
    """One combination of knobs. ``id`` is its fragment (#cell-ID) and the same in every report;
    ``knobs`` count the values of each axis, -1 for none; ``verdicts`` pairs number of
    ``PageDocument.verdicts`` and count. ``k`` of ``n`` failed; ``speed`` is median, low, high in
    draft slots per second.
    """

    id: str
    knobs: tuple[int, ...]
    verdicts: tuple[tuple[int, int], ...]
    k: int
    n: int
    low: float
    high: float
    speed: tuple[float, float, float] | None


class TrialLine(NamedTuple):
    """One trial. ``cell`` counts ``cells``, -1 for a reference; ``verdict`` counts ``verdicts``;
    ``symptom``, ``note`` and ``replay`` count ``texts`` (-1 for none), and the digest stands for
    ``%DIGEST%`` in ``replay``. ``findings`` count ``findings``.
    """

    digest: str
    cell: int
    verdict: int
    repeat: int
    duration_s: float
    slots_per_s: float | None
    compiles: int
    peak_memory_bytes: int | None
    symptom: int
    note: int
    replay: int
    findings: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingLine:
    """A finding as trials refer to it. ``anchor`` is the id of its card, empty for no card."""

    fingerprint: str
    title: str
    tier: str
    anchor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictLine:
    """A verdict and how it is shown: worst first, as the numbers count."""

    name: str
    letter: str
    meaning: str
    failed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A configuration as safety against speed: ``k`` of ``n`` trials failed. ``cells`` count
    ``PageDocument.cells``; ``front`` is True where no other is both safer and faster.
    """

    cells: tuple[int, ...]
    k: int
    n: int
    low: float
    high: float
    speed: tuple[float, float, float] | None
    front: bool
    oversubscribed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PageDocument:
    """The data of a sweep's page. ``axes`` are those of which a cell has a value, ``varied`` the
    ones with more than one; ``condition`` is the axis that no program chooses (pressure). ``hung``
    are digests whose stacks are on the page.
    """

    schema: str
    schema_version: int
    run: str
    axes: Mapping[str, tuple[str, ...]]
    varied: tuple[str, ...]
    rows: str
    columns: str
    condition: str
    verdicts: tuple[VerdictLine, ...]
    texts: tuple[str, ...]
    cells: tuple[CellLine, ...]
    trials: tuple[TrialLine, ...]
    findings: tuple[FindingLine, ...]
    points: tuple[Point, ...]
    timelines: Mapping[str, Timeline]
    hung: tuple[str, ...]
