"""T3: several threads compiled the same code for the same guards, one after the other.

Dynamo looks into a function's cache before it asks for ``compile_lock`` and not again once it
has it: a check and an act with a gap between them, so every thread that waited compiles what it
has waited for. That is a race (which of them compiles is up to the scheduler) but no wrong
result, hence T3: it costs seconds, and entries of the recompile limit. Torch says so itself
where its guards "passed during recompilation-reason analysis"; a first compile that waited for
another thread's first compile of that code is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.core.timeline import COMPILE_LOCK
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Finding, Side, Tier

_PASSED = "even though they passed"
_UNKNOWN = "not known to torch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compile:
    """A compile that succeeded. ``waited_from`` is where its thread began to wait for the lock."""

    event: Event
    at: int
    waited_from: int | None

    @property
    def code(self) -> str:
        return str(self.event.data.get("code"))


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per code that was compiled again, with how often and for how many seconds."""
    compiles = _compiles(evidence.trace)
    found = []
    for code in dict.fromkeys(one.code for one in compiles):
        same = [one for one in compiles if one.code == code]
        pairs = [(one, first) for one in same if (first := _repeated(one, same)) is not None]
        if pairs:
            found.append(_finding(code, pairs, len(same)))
    return tuple(found)


def _compiles(trace: Trace) -> list[Compile]:
    waits: dict[int, int] = {}
    found = []
    for at, event in enumerate(trace.events):
        if event.kind == "lock" and event.data.get("lock") == COMPILE_LOCK:
            if event.data.get("edge") == "wait":
                waits[event.ident] = at
        elif event.kind == "compile":
            waited_from = waits.pop(event.ident, None)
            if event.data.get("ok"):
                found.append(Compile(event=event, at=at, waited_from=waited_from))
    return found


def _repeated(one: Compile, same: list[Compile]) -> Compile | None:
    """The other thread's compile that this one repeats, if it repeats any."""
    earlier = [o for o in same if o.at < one.at and o.event.ident != one.event.ident]
    reason = one.event.data.get("reason")
    if reason is not None and _PASSED in str(reason):
        return earlier[-1] if earlier else None
    if reason not in (None, _UNKNOWN) or one.waited_from is None:
        return None
    waited_for = [o for o in earlier if o.at > one.waited_from]
    return waited_for[-1] if waited_for else None


def _finding(code: str, pairs: list[tuple[Compile, Compile]], total: int) -> Finding:
    again, first = pairs[0]
    cost_s = sum(float(one.event.data.get("duration_s", 0.0)) for one, _ in pairs)
    return Finding(
        fingerprint=fingerprint(Tier.RACE, state=None, key=("duplicate compile", code)),
        title=f"{code} compiled again by threads that had waited for the same compile",
        tier=Tier.RACE,
        state=None,
        hazard=None,
        sides=(
            Side(thread=first.event.thread, region="compile", access=f"compiles {code}"),
            Side(
                thread=again.event.thread,
                region="compile",
                access=f"compiles {code} again: its look into the cache was before it waited",
            ),
        ),
        symptoms=(f"{len(pairs)} of {total} compiles of {code} were repeats: {cost_s:.2f} s",),
    )


detector = Detector(find=find)
