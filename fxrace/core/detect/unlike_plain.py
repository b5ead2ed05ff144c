"""T1: a reference computes something else than plain PyTorch, though nothing runs beside it.

No race: a kernel, a part or a compiler is wrong by itself, and on both sides of every comparison
with this reference.
"""

from __future__ import annotations

from fxrace.core.curve import unlike_plain
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding, at what is farthest off; other parts are another cause."""
    text, said = unlike_plain(evidence.trace), evidence.trace.last("plain")
    if text is None or said is None:
        return ()
    knobs, of_target = evidence.trial.knobs, said.data["where"] == "features"
    axes = ("precision",) if of_target else ("attention", "layers", "loss")
    named = ", ".join(f"{axis}={knobs[axis]}" for axis in axes if axis in knobs)
    parts = f"target: {named}" if of_target else named
    return (
        Finding(
            fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("unlike_plain", parts)),
            title="wrong without any thread: a kernel or a part computes something else than plain "
            "PyTorch",
            tier=Tier.SILENT_WRONG,
            state=None,
            hazard=None,
            sides=(Side(thread="MainThread", region="step", access=parts or "its own parts"),),
            symptoms=(text,),
        ),
    )


detector = Detector(find=find)
