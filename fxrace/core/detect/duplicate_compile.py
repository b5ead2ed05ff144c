"""T3: several threads compiled the same code for the same guards, one after the other.

A check and an act with a gap between them (see ``core.compiles``). That is a race (which of them
compiles is up to the scheduler) but no wrong result, hence T3: it costs seconds, and entries of
the recompile limit.
"""

from __future__ import annotations

from fxrace.core.compiles import Compile, compiles, repeated
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Tier

STATE = "dynamo.cache_entries"


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per code that was compiled again, with how often and for how many seconds."""
    every = tuple(one for one in compiles(evidence.trace) if one.ok)
    found = []
    for code in dict.fromkeys(one.code for one in every):
        same = [one for one in every if one.code == code]
        pairs = [(one, first) for one in same if (first := repeated(one, every)) is not None]
        if pairs:
            found.append(_finding(code, pairs, len(same)))
    return tuple(found)


def _finding(code: str, pairs: list[tuple[Compile, Compile]], total: int) -> Finding:
    again, first = pairs[0]
    cost_s = sum(float(one.event.data.get("duration_s", 0.0)) for one, _ in pairs)
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=None, key=("duplicate compile", code)),
        title=f"{code} compiled again by threads that had waited for the same compile",
        tier=Tier.RACE,
        state=STATE,
        hazard=None,
        sides=(
            first.side(f"compiles {code}"),
            again.side(f"compiles {code} again: its look into the cache was before it waited"),
        ),
        symptoms=(f"{len(pairs)} of {total} compiles of {code} were repeats: {cost_s:.2f} s",),
    )


detector = Detector(find=find)
