"""How a trial process ended (Ending) and what that means (Outcome)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from fxrace.records.finding import Frame
from fxrace.records.tally import Spread
from fxrace.records.verdict import Verdict


class Stop(str, Enum):
    """Why a trial process is no longer running."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    SILENT = "silent"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadStack:
    """One thread of a stuck process, innermost frame last."""

    thread: str
    ident: int | None
    frames: tuple[Frame, ...]
    source: str
    holds_gil: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """What the parent saw. ``code`` is an exit status or a signal number by ``stop``.

    ``overhead_s`` is the wall time fxrace spent on the trial outside the child's own work.
    ``blind`` holds (what, reason) pairs for evidence that could not be taken.
    """

    stop: Stop
    code: int | None
    duration_s: float
    overhead_s: float
    stacks: tuple[ThreadStack, ...] = ()
    stderr_tail: str = ""
    blind: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DrafterSpeed:
    """Where one drafter's time went, over the same steps that the speed of its trial counts.

    ``draft_slots_per_s`` is over this drafter's own steady time, and ``queue_wait`` and
    ``lock_wait`` are shares of that time, 0..1: until features were there, and for the locking
    part. The rest is hand-off and the steps themselves. ``step_ms`` (waits included) and
    ``handoff_ms`` (from when features were there and the drafter wanted them until it had them)
    are medians. ``queue_full_s`` is how long targets waited for room in its queue, added up over
    targets and the whole run; None where that is not recorded (one process per slot, the oracle).
    In the oracle the targets' work and the other drafters' steps count as waiting.
    """

    drafter: int
    draft_slots_per_s: float
    step_ms: float
    queue_wait: float
    lock_wait: float
    handoff_ms: float
    queue_full_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Throughput:
    """Steady-state speed of one trial, all drafters together.

    ``tflops`` counts model FLOPs (forward and backward, no recompute); ``mfu`` is its share of
    the device's dense peak, None where the peak is unknown. ``oversubscribed`` marks slots that
    shared a device. ``hfu`` counts recompute too; ``windows`` is draft slots per second over
    windows of the run, the median with its 95 % interval. ``gil_share`` is the share of the
    steady part of the run in which each thread held the interpreter lock, where it was sampled.
    ``drafters`` are those that finished; empty in records written before there was such a field.
    """

    draft_slots_per_s: float
    context_tokens_per_s: float
    rows_per_s: float
    tflops: float
    mfu: float | None
    oversubscribed: bool
    hfu: float | None = None
    anchors_per_s: float | None = None
    windows: Spread | None = None
    gil_share: Mapping[str, float] | None = None
    drafters: tuple[DrafterSpeed, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Verdict + one-line symptom + figures of a Trial."""

    verdict: Verdict
    symptom: str
    duration_s: float
    throughput: Throughput | None = None
    compiles: int = 0
    peak_memory_bytes: int | None = None
    notes: tuple[str, ...] = ()
