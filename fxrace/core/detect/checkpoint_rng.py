"""T1: a checkpoint recomputed other numbers than its forward, while another thread had one open.

Both drew from, or set back, the process's one random generator, and the gradient belongs to
neither mask. Certain, because three things are on record: the recomputed tensor is not the one
that was saved, the generator ended elsewhere than in the forward, and another thread's checkpoint
lay inside. T3 where the results could not be compared (a GPU's tensors are not read), or where the
other thread has no checkpoint and may only have drawn.
"""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.frames import frames_of, is_waiting
from fxrace.core.states import by_name
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Side, Tier, Value

STATE, REGION = "rng.cpu", "rng"
_CHECKPOINTS = frozenset({"checkpoint", "rng"})


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per ``rng`` event; equal causes are merged later."""
    return tuple(_finding(event) for event in evidence.trace.of("rng"))


def _finding(event: Event) -> Finding:
    other, name = _other(event), event.data["name"]
    met = other.region in _CHECKPOINTS
    tier = Tier.SILENT_WRONG if met and event.data["differ"] else Tier.RACE
    state = by_name(STATE)
    how = "drew other random numbers" if event.data["differ"] else "left the generator elsewhere"
    return Finding(
        fingerprint=fingerprint(tier, state=STATE, regions=(REGION,)),
        title=f"the recompute of a checkpoint {how} than its forward did, "
        f"with another thread {'in a checkpoint of its own' if met else 'beside it'}",
        tier=tier,
        state=STATE,
        hazard=None,
        sides=(
            Side(
                thread=event.thread, region=REGION, access=f"sets {STATE} back and draws again",
                stack=frames_of(event.data["frames"]),
            ),
            other,
        ),
        symptoms=(f"{name} in {event.thread}, beside {other.thread}",),
        value=Value(during="the forward's state, and another thread's draws"),
        references=state.references if state else (),
    )  # fmt: skip


def _other(event: Event) -> Side:
    """The thread that had a checkpoint open; else one that did something rather than wait."""
    others = [
        Side(
            thread=other["thread"], region=other["region"],
            access=f"draws from {STATE} or sets it back"
            if other["region"] in _CHECKPOINTS
            else f"was there, and may have drawn from {STATE}",
            stack=frames_of(other["frames"]),
        )
        for other in event.data["others"]
    ]  # fmt: skip
    busy = [side for side in others if side.stack and not is_waiting(side.stack[-1])]
    return (busy or others)[0]


detector = Detector(find=find)
