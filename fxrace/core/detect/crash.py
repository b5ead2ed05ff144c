"""T0: the trial process died: by a signal, or by leaving before its record ended."""

from __future__ import annotations

import signal

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint, site
from fxrace.records.event import Trace
from fxrace.records.finding import Finding, Side, Tier
from fxrace.records.outcome import Ending, Stop


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding, with the stacks that the interpreter could still write."""
    how = died(evidence.ending, evidence.trace)
    if how is None:
        return ()
    sides = tuple(
        Side(thread=stack.thread, region="crash", access=how, stack=stack.frames)
        for stack in evidence.ending.stacks[:2]
    )
    key = site(evidence.ending.stacks[0].frames) if evidence.ending.stacks else ()
    return (
        Finding(
            fingerprint=fingerprint(Tier.FAILURE, state=None, key=("crash", how, *key)),
            title=f"the process died: {how}",
            tier=Tier.FAILURE,
            state=None,
            hazard=None,
            sides=sides or (Side(thread="process", region="crash", access=how),),
            symptoms=tuple(filter(None, (how, _last_line(evidence.ending.stderr_tail)))),
        ),
    )


def died(ending: Ending, trace: Trace) -> str | None:
    """How the process died before its record was complete, or None when it did not."""
    if ending.stop is Stop.SIGNALLED:
        return f"killed by {_signal_name(ending.code)}"
    last = trace.last("phase")
    complete = last is not None and last.data["name"] == "end"
    if ending.stop is Stop.EXITED and not complete and trace.last("broken") is None:
        return f"left with exit status {ending.code} before its record was complete"
    return None


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


detector = Detector(find=find)
