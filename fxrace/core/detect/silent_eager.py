"""T1: calls of a compiled function ran uncompiled in some threads, and nothing said so.

Reads the ``executions`` event: per thread, how many calls of compiled functions ran compiled
code and how many the original. A thread's eager calls count only where *another* thread ran
compiled code: a program that turns compiling off, for itself or for a block, meant it. Dense
attention is the business of ``dense``, which knows what the attention promised.

Where the counts are known per code, a thread is accused only of a code that it never ran compiled
and another thread did. Both counts are lower bounds (``fxrace.probe.executions``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding, with every thread that ran eager as a symptom."""
    event = evidence.trace.last("executions")
    if event is None:
        return ()
    compiled = {t: n for t, n in sorted(event.data.get("compiled", {}).items()) if n}
    eager = _eager(event.data, compiled)
    if not eager:
        return ()
    lines = {t: f"{n} of {n + compiled.get(t, 0)} calls ran uncompiled" for t, n in eager.items()}
    worst = max(eager, key=lambda thread: eager[thread])
    best = max((t for t in compiled if t != worst), key=lambda thread: compiled[thread])
    return (
        Finding(
            fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("silent eager",)),
            title="compiled functions silently ran uncompiled in some threads",
            tier=Tier.SILENT_WRONG,
            state=None,
            hazard=None,
            sides=(
                Side(thread=worst, region="call", access=lines[worst]),
                Side(thread=best, region="call", access=f"{compiled[best]} calls ran compiled"),
            ),
            symptoms=tuple(f"{thread}: {line}" for thread, line in lines.items()),
        ),
    )


def _eager(data: Mapping[str, Any], compiled: Mapping[str, int]) -> dict[str, int]:
    """Calls by thread that ran uncompiled what another thread ran compiled."""
    known = data.get("codes")
    codes = (
        [{"compiled": compiled, "eager": data.get("eager", {})}]
        if known is None
        else [*known.values()]
    )
    found: Counter[str] = Counter()
    for calls in codes:
        ran = {thread for thread, n in calls["compiled"].items() if n}
        for thread, n in sorted(calls["eager"].items()):
            now_and_then = known is not None and thread in ran
            if n and not now_and_then and ran - {thread}:
                found[thread] += n
    return dict(found)


detector = Detector(find=find)
