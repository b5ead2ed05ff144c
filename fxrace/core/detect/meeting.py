"""T0: a compiled call met another thread's trace, caught in the act, whoever catches the error.

Has the same fingerprint as the error it leads to, so that both become one finding, with the
stack of the tracing thread as it was at that moment.
"""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.frames import frames_of
from fxrace.core.states import by_name
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Side, Tier, Value
from fxrace.records.state import State

_CALL = "call"


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per ``met`` event; equal causes are merged later."""
    return tuple(
        _finding(event, state)
        for event in evidence.trace.of("met")
        if (state := by_name(event.data["state"])) is not None
    )


def _finding(event: Event, state: State) -> Finding:
    other = event.data["others"][0]
    return Finding(
        fingerprint=fingerprint(Tier.FAILURE, state=state.name, regions=(_CALL, state.borrowed_by)),
        title=f"call met another thread's {state.borrowed_by}, over {state.name}: {state.why}",
        tier=Tier.FAILURE,
        state=state.name,
        hazard=None,
        sides=(
            Side(
                thread=event.thread,
                region=_CALL,
                access=f"meets {state.name}",
                stack=frames_of(event.data["frames"]),
            ),
            Side(
                thread=other["thread"],
                region=other["region"],
                access=f"holds {state.name}",
                stack=frames_of(other["frames"]),
            ),
        ),
        symptoms=(f"{event.thread} met {state.name} held by {other['thread']}",),
        value=Value(during=f"borrowed by a {state.borrowed_by}"),
        references=state.references,
    )


detector = Detector(find=find)
