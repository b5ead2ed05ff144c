"""T3: two regions that save and restore one State overlapped without nesting: a swap.

The first saves the baseline; the second saves what the first has written; the first restores
the baseline, under the second's feet; the second then restores what the first had written, and
the process keeps it. Nesting (the second ends first) restores everything, and two regions that
are ordered cannot overlap so.
"""

from __future__ import annotations

from fxrace.core.borrowing import Pair, by_kind, lockset, side_of, unordered
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.timeline import Meeting
from fxrace.records.finding import Finding, Tier, Value


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per kind of region, showing the first swap."""
    crossed = (pair for pair in unordered(evidence.trace) if pair.how is Meeting.CROSSED)
    return tuple(_finding(kind, pairs) for kind, pairs in sorted(by_kind(crossed).items()))


def _finding(kind: str, pairs: list[Pair]) -> Finding:
    pair = pairs[0]
    state = pair.states[0]
    first, second = pair.first.thread, pair.second.thread
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=None, regions=(kind,), key=("borrowed",)),
        title=f"two {kind} regions overlapped without nesting: "
        f"they restore each other's {state.name}",
        tier=Tier.RACE,
        state=state.name,
        hazard=None,
        sides=(
            side_of(pair.first, f"restores {state.name} to the baseline while the other is inside"),
            side_of(pair.second, f"puts the other's {state.name} back after the other has ended"),
        ),
        symptoms=(f"{len(pairs)} swaps of {kind} regions", lockset(pair)),
        value=Value(
            before="baseline",
            during=f"written by {first}, saved by {second}",
            after=f"what {first} had written",
        ),
        references=state.references,
    )


detector = Detector(find=find)
