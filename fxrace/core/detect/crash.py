"""T0: the trial process died: by a signal, or by leaving before its record ended.

One side is the thread that died, by the stack that the interpreter could still write; others are
those that had a region open then.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint, site
from fxrace.core.timeline import regions
from fxrace.records.event import Trace
from fxrace.records.finding import Finding, Frame, Side, Tier
from fxrace.records.outcome import Ending, Stop, ThreadStack

_CRASH = "crash"
_REGIONS = {"torch/_subclasses/fake_tensor.py:__enter__": "fake"}
"""What died where it stepped into a region has no record of that."""


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """At most one finding."""
    how = died(evidence.ending, evidence.trace)
    if how is None:
        return ()
    stacks = evidence.ending.stacks[:1]  # the thread in which it happened comes first
    victim = _victim(stacks, how)
    return (
        Finding(
            fingerprint=fingerprint(Tier.FAILURE, state=None, key=("crash", how, *_cause(victim))),
            title=f"the process died: {how}",
            tier=Tier.FAILURE,
            state=None,
            hazard=None,
            sides=(victim, *_beside(evidence.trace, stacks)),
            symptoms=tuple(filter(None, (how, _last_line(evidence.ending.stderr_tail)))),
        ),
    )


def _victim(stacks: Sequence[ThreadStack], how: str) -> Side:
    """The thread that died, or the process where nothing could be written any more."""
    for stack in stacks:
        return Side(
            thread=stack.thread, region=_region_of(stack.frames), access=how, stack=stack.frames
        )
    return Side(thread="process", region=_CRASH, access=how)


def _cause(victim: Side) -> tuple[str, ...]:
    """What is known by its region is one cause, wherever it was called from."""
    return site(victim.stack) if victim.region == _CRASH else (victim.region,)


def _region_of(frames: Sequence[Frame]) -> str:
    place = f"{frames[-1].file}:{frames[-1].function.rsplit('.', 1)[-1]}" if frames else ""
    return next((kind for surface, kind in _REGIONS.items() if place.endswith(surface)), _CRASH)


def _beside(trace: Trace, stacks: Sequence[ThreadStack]) -> Iterator[Side]:
    """Who stood in a region, each thread with its innermost."""
    mine = {stack.ident for stack in stacks}
    still = {one.ident: one for one in regions(trace) if one.left is None}
    for region in still.values():
        if region.ident not in mine:
            yield Side(
                thread=region.thread, region=region.kind, access="was inside", stack=region.stack
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
