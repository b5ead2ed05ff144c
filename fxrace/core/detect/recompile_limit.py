"""T1: a function used up its recompile limit, and runs uncompiled for the rest of the process.

Threads make it likelier: each duplicate compile takes an entry. Where it would have fitted without
the duplicates, the finding names Dynamo's cache, the thread that was refused and one that filled
it; else it is the program's own doing, one side and no State. Folded into ``dense`` where that saw
the consequence; a thread that does not see the limit another has set is ``config_divergence``.
"""

from __future__ import annotations

from fxrace.core.compiles import Refusal, refusals
from fxrace.core.detect import Detector
from fxrace.core.detect.config_divergence import unseen_limit
from fxrace.core.detect.duplicate_compile import STATE
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier, Value


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per frame whose last compile was refused at the limit."""
    settings = list(evidence.trace.of("config"))
    return tuple(
        _finding(refusal)
        for refusal in refusals(evidence.trace)
        if not unseen_limit(refusal, settings)
    )


def _finding(refusal: Refusal) -> Finding:
    code, shared = refusal.code, refusal.by_threads
    return Finding(
        fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("recompile limit", code)),
        title=f"{code} used up its recompile limit and runs uncompiled from then on"
        + (": threads compiled the same again" if shared else ""),
        tier=Tier.SILENT_WRONG,
        state=STATE if shared else None,
        hazard=None,
        sides=_sides(refusal) if shared else (_victim(refusal),),
        symptoms=(refusal.symptom,),
        value=Value(during=f"{refusal.entries} entries, limit {refusal.limit}"),
    )


def _victim(refusal: Refusal) -> Side:
    return refusal.refused[0].side(f"is refused a compile of {refusal.code}")


def _sides(refusal: Refusal) -> tuple[Side, ...]:
    """The refused thread, and another one that compiled what was there already."""
    victim = _victim(refusal)
    others = [one for one in refusal.repeats if one.event.thread != victim.thread]
    return (victim, *(one.side(f"compiled {refusal.code} once more") for one in others[:1]))


detector = Detector(find=find)
