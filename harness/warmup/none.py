"""No warm-up: the first step of each drafter is the first call of everything."""

from __future__ import annotations

from collections.abc import Sequence

from fxrace.probe.part import Part
from harness.contracts import Rehearsal


class NoWarmup:
    """Rehearses nothing anywhere."""

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None: ...

    def in_drafter(self, rehearsal: Rehearsal, contexts: Sequence[int], others: int) -> None: ...


part = Part(build=NoWarmup, default=True)
