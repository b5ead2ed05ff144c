"""What drafters wait for names the bottleneck, and a wait that is too short does not."""

from __future__ import annotations

import pytest

from fxrace.core.bottleneck import HARDLY, SOME, Cause, bottleneck
from fxrace.records.outcome import DrafterSpeed


def drafter(queue: float = 0.0, lock: float = 0.0, handoff_ms: float = 0.0) -> DrafterSpeed:
    return DrafterSpeed(
        drafter=0, draft_slots_per_s=100.0, step_ms=10.0, queue_wait=queue, lock_wait=lock,
        handoff_ms=handoff_ms,
    )  # fmt: skip


LONG, SHORT = SOME + 0.1, SOME - 0.1
CASES = {
    "features": ([drafter(LONG), drafter(LONG + 0.2)], Cause.TARGETS, LONG + 0.1),
    "features a little": ([drafter(SHORT)], Cause.DRAFTERS, 1 - SHORT),
    "features on average": ([drafter(SHORT), drafter(LONG)], Cause.TARGETS, SOME),
    "locks": ([drafter(0.1, LONG)] * 3, Cause.LOCKS, LONG),
    "locks more than features": ([drafter(0.3, 0.4)], Cause.LOCKS, 0.4),
    "features more than locks": ([drafter(0.4, 0.3)], Cause.TARGETS, 0.4),
    "hand-off": ([drafter(0.1, 0.1, 3.0)], Cause.HANDOFF, 0.3),
    "hand-off a little": ([drafter(handoff_ms=1.0)], Cause.DRAFTERS, 0.9),
    "one that is never hungry": ([drafter(HARDLY / 2), drafter(0.6)], Cause.UNEVEN, 0.6),
    "all hungry": ([drafter(HARDLY), drafter(0.6)], Cause.TARGETS, (HARDLY + 0.6) / 2),
    "nothing": ([drafter()], Cause.DRAFTERS, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_cause(name: str) -> None:
    given, cause, share = CASES[name]
    found = bottleneck(given)
    assert (found.cause, found.share) == (cause, pytest.approx(share))


def test_nobody_has_none() -> None:
    with pytest.raises(ValueError, match="nobody"):
        bottleneck([])
