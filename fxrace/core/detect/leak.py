"""T2: no region is active any more, yet a State is off its baseline. The process is poisoned."""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.states import by_name
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Side, Tier, Value


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per State that was not put back; one cause per kind of region."""
    return tuple(_finding(event) for event in evidence.trace.of("leak"))


def _finding(event: Event) -> Finding:
    name = event.data["state"]
    state = by_name(name)
    region = state.borrowed_by if state else "region"
    return Finding(
        fingerprint=fingerprint(Tier.LEAK, state=None, regions=(region,)),
        title=f"{name} was not put back: the process stays poisoned after every {region} has ended",
        tier=Tier.LEAK,
        state=name,
        hazard=None,
        sides=(Side(thread="process", region="none", access=f"{name} off its baseline"),),
        symptoms=(f"{event.data['attribute']} is {event.data['after']}",),
        value=Value(before=event.data["before"], after=event.data["after"]),
        references=state.references if state else (),
    )


detector = Detector(find=find)
