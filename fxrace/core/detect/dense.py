"""T1: an attention that promised never to materialise scores did, silently.

After the recompile limit a compiled flex_attention runs its uncompiled, dense path for the life
of the process; torch says so once, in a warning. On a GPU at real shapes that is the
out-of-memory error that follows. The count per thread is what makes it visible.
"""

from __future__ import annotations

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier

REFERENCES = ("vllm-project/vllm#27178",)


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding, with every thread that fell back as a symptom."""
    event = evidence.trace.last("attention")
    if event is None or not event.data.get("fused"):
        return ()
    calls, dense = event.data["calls"], event.data["dense"]
    fallen = {thread: n for thread, n in sorted(dense.items()) if n}
    if not fallen:
        return ()
    lines = tuple(f"{t}: {n} of {calls.get(t, n)} calls dense" for t, n in fallen.items())
    return (
        Finding(
            fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("dense",)),
            title="compiled attention silently ran dense: scores were materialised",
            tier=Tier.SILENT_WRONG,
            state=None,
            hazard=None,
            sides=tuple(
                Side(thread=thread, region="call", access=line)
                for thread, line in list(zip(fallen, lines, strict=True))[:2]
            ),
            symptoms=lines,
            references=REFERENCES,
        ),
    )


detector = Detector(find=find)
