"""The compiles of a Trace: which repeat another thread's, and which were refused at the limit.

Dynamo looks into a function's cache before it asks for ``compile_lock`` and not again once it has
it, so every thread that waited compiles what it has waited for. Torch says so itself where its
guards "passed during recompilation-reason analysis"; a first compile that waited for another
thread's first compile of that code is the same. Names of code are not unique; Dynamo's frame
numbers are, one for each code object.

A call that failed all cache entries when there were as many as the limit allows, and was then not
compiled, was refused; if nothing of that frame was compiled afterwards, the refusal stood. Entries
are counted per frame.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from fxrace.core.frames import frames_of
from fxrace.core.timeline import COMPILE_LOCK
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Frame, Side

DEFAULT_LIMIT = 8
_PASSED = "even though they passed"
_UNKNOWN = "not known to torch"
_ENTRY = re.compile(r"(?:^|[;\n-])\s*(\d+)/(\d+):")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compile:
    """One attempt. ``waited_from`` is where its thread began to wait for the lock, if it did."""

    event: Event
    at: int
    waited_from: int | None

    @property
    def code(self) -> str:
        return str(self.event.data.get("code"))

    @property
    def ok(self) -> bool:
        return bool(self.event.data.get("ok"))

    @property
    def stack(self) -> tuple[Frame, ...]:
        """Where its thread stood; empty in records of before stacks were taken."""
        return frames_of(self.event.data.get("frames", ()))

    def side(self, access: str) -> Side:
        return Side(thread=self.event.thread, region="compile", access=access, stack=self.stack)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A frame that is not compiled any more. ``repeats`` are duplicates that fill its cache."""

    code: str
    refused: tuple[Compile, ...]
    repeats: tuple[Compile, ...]
    entries: int
    limit: int

    @property
    def threads(self) -> tuple[str, ...]:
        """Those that were refused, each once."""
        return tuple(dict.fromkeys(one.event.thread for one in self.refused))

    @property
    def by_threads(self) -> bool:
        """True when it would have fitted without what threads compiled twice."""
        return self.entries - len(self.repeats) < self.limit

    @property
    def symptom(self) -> str:
        of = f", {len(self.repeats)} of them repeats" if self.repeats else ""
        return (
            f"{self.code}: {len(self.refused)} compiles refused with {self.entries} entries in "
            f"its cache{of}"
        )


def compiles(trace: Trace) -> tuple[Compile, ...]:
    """Every attempt to compile, in order."""
    waits: dict[int, int] = {}
    found = []
    for at, event in enumerate(trace.events):
        if event.kind == "lock" and event.data.get("lock") == COMPILE_LOCK:
            if event.data.get("edge") == "wait":
                waits[event.ident] = at
        elif event.kind == "compile":
            found.append(Compile(event=event, at=at, waited_from=waits.pop(event.ident, None)))
    return tuple(found)


def repeated(one: Compile, every: tuple[Compile, ...]) -> Compile | None:
    """The other thread's compile that this one repeats, if it repeats any."""
    earlier = [
        o
        for o in every
        if o.ok and _same(o, one) and o.at < one.at and o.event.ident != one.event.ident
    ]
    reason = one.event.data.get("reason")
    if reason is not None and _PASSED in str(reason):
        return earlier[-1] if earlier else None
    if reason not in (None, _UNKNOWN) or one.waited_from is None:
        return None
    waited_for = [o for o in earlier if o.at > one.waited_from]
    return waited_for[-1] if waited_for else None


def _same(one: Compile, other: Compile) -> bool:
    """Whether both compile one code object, as far as the records tell."""
    frames = {_frame(one), _frame(other)} - {None}
    return one.code == other.code and len(frames) < 2


def refusals(trace: Trace) -> tuple[Refusal, ...]:
    """One per frame whose last compile was refused at the limit."""
    every, found = compiles(trace), []
    for (code, frame), attempts in _by_frame(every).items():
        refused = tuple(one for one in attempts if _refused(one))
        if refused and attempts[-1] is refused[-1]:
            mine = [o for o in every if o.ok and o.code == code and _frame(o) in (None, frame)]
            found.append(
                Refusal(
                    code=code,
                    refused=refused,
                    repeats=tuple(o for o in mine if repeated(o, every) is not None),
                    entries=_full(refused[0]),
                    limit=_limit(refused[0]),
                )
            )
    return tuple(found)


def _by_frame(every: tuple[Compile, ...]) -> dict[tuple[str, str], list[Compile]]:
    """Recompiles by code and frame number; a first compile names no frame and needs none."""
    found: dict[tuple[str, str], list[Compile]] = defaultdict(list)
    for one in every:
        if _entries(one) and (frame := _frame(one)) is not None:
            found[one.code, frame].append(one)
    return found


def _entries(one: Compile) -> list[tuple[str, str]]:
    return list(dict.fromkeys(_ENTRY.findall(str(one.event.data.get("reason") or ""))))


def _frame(one: Compile) -> str | None:
    """Its frame number, where the record has one."""
    if told := one.event.data.get("id"):
        return str(told).rpartition("/")[0].strip("[]").rpartition("!")[2]
    entries = _entries(one)
    return entries[0][0] if entries else None


def _limit(one: Compile) -> int:
    return int(one.event.data.get("limit") or DEFAULT_LIMIT)


def _full(one: Compile) -> int:
    """How many entries the call failed to match."""
    return int(one.event.data.get("entries") or len(_entries(one)))


def _refused(one: Compile) -> bool:
    return not one.ok and _full(one) >= _limit(one)
