"""T4: two threads borrowed one State within 50 ms, and no order between them is on record.

They did not overlap this time. It tells where a delay would make them, and is no more than a
note. Pairs that a recorded lock or hand-over puts in an order came close by design and are left
out. Folded away where the same regions raced, leaked or failed.
"""

from __future__ import annotations

from fxrace.core.borrowing import Pair, by_kind, followed, side_of
from fxrace.core.clocks import clocks_of
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.timeline import regions
from fxrace.records.finding import Finding, Tier

CLOSE_S = 0.05


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per kind of region, showing the smallest gap."""
    trace = evidence.trace
    apart = followed(regions(trace), clocks_of(trace))
    found = by_kind(pair for pair in apart if _gap_s(pair) < CLOSE_S)
    return tuple(_finding(kind, pairs) for kind, pairs in sorted(found.items()))


def _gap_s(pair: Pair) -> float:
    """Seconds between the end of the first and the beginning of the second.

    A time is taken before its line is written, so two neighbours may be the wrong way round.
    """
    return max(0.0, pair.second.entered_s - (pair.first.left_s or 0.0))


def _finding(kind: str, pairs: list[Pair]) -> Finding:
    closest = min(pairs, key=_gap_s)
    state = closest.states[0]
    return Finding(
        fingerprint=fingerprint(Tier.NEAR_MISS, state=None, regions=(kind,), key=("borrowed",)),
        title=f"near miss: two threads borrow {state.name} in {kind} regions close to each other",
        tier=Tier.NEAR_MISS,
        state=state.name,
        hazard=None,
        sides=(
            side_of(closest.first, f"restores {state.name}"),
            side_of(closest.second, f"saves and writes {state.name}"),
        ),
        symptoms=(
            f"{len(pairs)} times within {CLOSE_S * 1000:.0f} ms, "
            f"{_gap_s(closest) * 1000:.1f} ms at the closest",
        ),
        references=state.references,
    )


detector = Detector(find=find)
