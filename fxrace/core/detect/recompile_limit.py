"""T1: a function used up its recompile limit, and runs uncompiled for the rest of the process.

Torch names the cache entries that a call failed to match. A call that failed all of them when
there were as many as the limit allows, and was then not compiled, was refused; if nothing of
that frame was compiled afterwards, the refusal stood. Threads make it likelier: each duplicate
compile takes an entry. Names of code are not unique, so entries are counted per frame number.
Folded into ``dense`` or ``silent_eager`` where one of them saw the consequence.
"""

from __future__ import annotations

import re
from collections import defaultdict

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Finding, Side, Tier

DEFAULT_LIMIT = 8
_ENTRY = re.compile(r"(?:^|[;\n-])\s*(\d+)/(\d+):")


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per frame whose last compile was refused at the limit."""
    found = []
    for (code, _), events in _by_frame(evidence.trace).items():
        refused = [event for event in events if _refused(event)]
        if refused and events[-1] is refused[-1]:
            found.append(_finding(code, refused))
    return tuple(found)


def _by_frame(trace: Trace) -> dict[tuple[str, str], list[Event]]:
    """Recompiles by code and frame number; a first compile names no frame and needs none."""
    found: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in trace.of("compile"):
        if entries := _entries(event):
            found[str(event.data.get("code")), entries[0][0]].append(event)
    return found


def _entries(event: Event) -> list[tuple[str, str]]:
    return list(dict.fromkeys(_ENTRY.findall(str(event.data.get("reason") or ""))))


def _refused(event: Event) -> bool:
    limit = int(event.data.get("limit") or DEFAULT_LIMIT)
    return not event.data.get("ok") and len(_entries(event)) >= limit


def _finding(code: str, refused: list[Event]) -> Finding:
    entries = len(_entries(refused[0]))
    threads = tuple(dict.fromkeys(event.thread for event in refused))
    return Finding(
        fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("recompile limit", code)),
        title=f"{code} used up its recompile limit and runs uncompiled from then on",
        tier=Tier.SILENT_WRONG,
        state=None,
        hazard=None,
        sides=tuple(
            Side(thread=thread, region="compile", access=f"refused a compile of {code}")
            for thread in threads[:2]
        ),
        symptoms=(f"{code}: {len(refused)} compiles refused with {entries} entries in its cache",),
    )


detector = Detector(find=find)
