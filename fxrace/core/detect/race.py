"""T3: two threads borrowed one State and nothing in the program puts them in an order.

Which of the two runs first, or whether they overlap, is up to the scheduler; a run in which it
went well says nothing about the next. One finding per kind of region, whatever the number of
pairs and of States: they are accessed together and fail together.
"""

from __future__ import annotations

from fxrace.core.borrowing import Pair, by_kind, lockset, side_of, unordered
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.timeline import Meeting
from fxrace.records.finding import Finding, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per kind of region; the pair shown is one that overlapped, if any did."""
    found = by_kind(unordered(evidence.trace))
    return tuple(_finding(kind, pairs) for kind, pairs in sorted(found.items()))


def _finding(kind: str, pairs: list[Pair]) -> Finding:
    overlapping = [pair for pair in pairs if pair.how is not Meeting.APART]
    shown = (overlapping or pairs)[0]
    states = shown.states
    counts = f"{len(pairs)} unordered pairs of {kind} regions, {len(overlapping)} overlapped"
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=None, regions=(kind,), key=("borrowed",)),
        title=f"race: two threads borrow {states[0].name} in {kind} regions that nothing orders",
        tier=Tier.RACE,
        state=states[0].name,
        hazard=None,
        sides=tuple(
            side_of(region, f"saves, writes and restores {states[0].name}")
            for region in (shown.first, shown.second)
        ),
        symptoms=(
            counts,
            lockset(shown),
            f"shared by these regions: {', '.join(state.name for state in states)}",
        ),
        references=states[0].references,
    )


detector = Detector(find=find)
