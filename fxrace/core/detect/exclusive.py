"""T0: two threads were at the same time in what the author asserts is exclusive."""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.frames import frames_of
from fxrace.core.states import by_name
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per ``exclusive`` event; one cause per asserted name."""
    return tuple(_finding(event) for event in evidence.trace.of("exclusive"))


def _finding(event: Event) -> Finding:
    name, other = event.data["name"], event.data["others"][0]
    return Finding(
        fingerprint=fingerprint(Tier.FAILURE, state=None, key=("exclusive", name)),
        title=f"two threads were in exclusive({name!r}) at the same time",
        tier=Tier.FAILURE,
        state=name if by_name(name) else None,
        hazard=None,
        sides=(
            Side(
                thread=event.thread,
                region="exclusive",
                access=f"asserts {name}",
                stack=frames_of(event.data["frames"]),
            ),
            Side(
                thread=other["thread"],
                region=other["region"],
                access=f"is in {name}",
                stack=frames_of(other["frames"]),
            ),
        ),
        symptoms=(f"{event.thread} and {other['thread']} were both in {name!r}",),
    )


detector = Detector(find=find)
