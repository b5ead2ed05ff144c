"""Main rehearses every drafter at every context length, forward and backward, before threads.

Helps as far as a worker's guards equal main's (grad mode, intra-op threads, device): the
compile cache belongs to the code object, not to the thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from fxrace.probe.part import Part
from harness.contracts import Rehearsal


class OnMain:
    """All rehearsals on the main thread, drafter by drafter."""

    def before_threads(self, rehearsals: Sequence[Rehearsal], contexts: Sequence[int]) -> None:
        for rehearsal in rehearsals:
            for context in contexts:
                rehearsal.rehearse(context)

    def in_drafter(self, rehearsal: Rehearsal, contexts: Sequence[int], others: int) -> None: ...


part = Part(build=OnMain, default=True)
