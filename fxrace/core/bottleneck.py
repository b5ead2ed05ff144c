"""What holds a training loop up: its targets, a lock, the hand-off, or the drafters themselves.

Read off how long drafters wait and for what. The surprise: waiting much shorter than half of the
time already names the bottleneck, because a drafter with features in its queue waits for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from fxrace.records.outcome import DrafterSpeed

SOME = 0.2
"""From this share of the time on, a wait is what holds the drafters up, if no other is longer."""
MOST = 0.5
"""From this share on, a drafter waits more than it does everything else."""
HARDLY = 0.05
"""Below this share, a drafter has all the features that it can take."""


class Cause(str, Enum):
    """UNEVEN: some drafters wait for features and others hardly. Batches are dealt in turn, so one
    slow drafter starves those beside it; then more targets would not help.
    """

    TARGETS = "targets"
    LOCKS = "locks"
    HANDOFF = "handoff"
    UNEVEN = "uneven"
    DRAFTERS = "drafters"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bottleneck:
    """``share`` of the time (0..1), over drafters: of the wait that ``cause`` stands for; for
    DRAFTERS of what is no wait; for UNEVEN of those drafters that wait.
    """

    cause: Cause
    share: float


def bottleneck(drafters: Sequence[DrafterSpeed]) -> Bottleneck:
    """What holds these drafters of one trial up. Raises ValueError for none."""
    if not drafters:
        raise ValueError("nobody's time can be told")
    waits = {
        Cause.TARGETS: _mean(one.queue_wait for one in drafters),
        Cause.LOCKS: _mean(one.lock_wait for one in drafters),
        Cause.HANDOFF: _mean(map(handoff, drafters)),
    }
    longest = max(waits, key=lambda cause: waits[cause])
    if waits[longest] < SOME:
        return Bottleneck(cause=Cause.DRAFTERS, share=max(0.0, 1.0 - sum(waits.values())))
    if longest is Cause.TARGETS and _uneven(drafters):
        waiting = _mean(one.queue_wait for one in drafters if one.queue_wait >= SOME)
        return Bottleneck(cause=Cause.UNEVEN, share=waiting)
    return Bottleneck(cause=longest, share=waits[longest])


def handoff(one: DrafterSpeed) -> float:
    """The share of the time that handing over takes, as far as two medians tell."""
    return min(1.0, one.handoff_ms / one.step_ms) if one.step_ms else 0.0


def _uneven(drafters: Sequence[DrafterSpeed]) -> bool:
    return min(one.queue_wait for one in drafters) < HARDLY


def _mean(shares: Iterable[float]) -> float:
    every = list(shares)
    return sum(every) / len(every)
