"""Regions of a Trace as intervals, and which of them overlap.

A thread is told by its ident, not by its name, because a program may rename a thread that is
running. An ident may be used again once its thread has ended; the two then count as one thread,
which can hide a race and never invents one. Order is the order of the record: its lines are
written one by one by threads that are at that point, so positions, not times, say what came
first. The surprise: a record may end anywhere, so a region may have no end.

A region's stack is the one in its enter event, else that of the region it lies in, else what a
thread that entered a region beside it saw of it: hooks do not take a stack at every border.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from fxrace.core.frames import frames_of
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Frame

COMPILE_LOCK = "torch._dynamo.compile_lock"
LOCK_KEY = "lock:"

# ``_compile`` runs with compile_lock held from before its first line until after its last one.
HOLDS_COMPILE_LOCK = frozenset({"compile"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """One span of one thread. ``entered`` and ``left`` are positions in the Trace.

    ``left`` is None when the record ends inside. ``depth`` is 0 for a region that lies in no
    other region of its thread. ``locks`` are those its thread held when it entered. ``kept`` are
    the States of which a guard gave each thread its own then.
    """

    kind: str
    name: str
    thread: str
    ident: int
    entered: int
    entered_s: float
    left: int | None = None
    left_s: float | None = None
    depth: int = 0
    locks: tuple[str, ...] = ()
    stack: tuple[Frame, ...] = ()
    kept: frozenset[str] = frozenset()


class Meeting(str, Enum):
    """How two regions lie to each other in the record."""

    APART = "apart"
    NESTED = "nested"
    CROSSED = "crossed"
    OPEN = "open"


def regions(trace: Trace) -> tuple[Region, ...]:
    """Every region, in the order in which they were entered; ends without a beginning are left out.

    An exit belongs to the innermost open region of its thread with the same number (and kind).
    """
    found: list[Region] = []
    open_: dict[int, list[tuple[object, int]]] = {}
    locks, guards = HeldLocks(), _Guards()
    for position, event in enumerate(trace.events):
        locks.see(event)
        guards.see(event)
        if event.kind != "region":
            continue
        stack = open_.setdefault(event.ident, [])
        key = (event.data.get("region"), event.data.get("number"))
        if event.data.get("edge") == "enter":
            _seen_from_beside(event, found, open_)
            around = found[stack[-1][1]].stack if stack else ()
            stack.append((key, len(found)))
            entered = _region(event, position, len(stack) - 1, locks.of(event.ident))
            entered = replace(entered, kept=guards.kept)
            found.append(entered if entered.stack else replace(entered, stack=around))
            continue
        match = next((i for i in reversed(range(len(stack))) if stack[i][0] == key), None)
        if match is not None:
            index = stack.pop(match)[1]
            found[index] = replace(found[index], left=position, left_s=event.at_s)
    return tuple(found)


def _seen_from_beside(
    event: Event, found: list[Region], open_: dict[int, list[tuple[object, int]]]
) -> None:
    """Regions that are open and have no stack get the one that this event saw of their thread."""
    for other in event.data.get("others", ()):
        for index in (index for stack in open_.values() for _, index in stack):
            region = found[index]
            if region.thread == other["thread"] and not region.stack:
                found[index] = replace(region, stack=frames_of(other["frames"]))


def meeting(first: Region, second: Region) -> Meeting:
    """How two regions lie; OPEN when the record ends before that is decided."""
    early, late = sorted((first, second), key=lambda region: region.entered)
    if early.left is not None and early.left < late.entered:
        return Meeting.APART
    if early.left is None:
        return Meeting.OPEN if late.left is None else Meeting.NESTED
    return Meeting.NESTED if late.left is not None and late.left < early.left else Meeting.CROSSED


class HeldLocks:
    """Which named locks each thread holds, told event by event; compiles hold compile_lock."""

    def __init__(self) -> None:
        self._held: dict[int, list[str]] = {}

    def see(self, event: Event) -> str | None:
        """Take one event into account; the lock that its thread got by it, if any."""
        lock, taken = _lock_change(event)
        if lock is None:
            return None
        held = self._held.setdefault(event.ident, [])
        if taken:
            held.append(lock)
            return lock
        if lock in held:
            held.remove(lock)
        return None

    def of(self, ident: int) -> tuple[str, ...]:
        """What this thread holds now, each once, in the order in which it was taken."""
        return tuple(dict.fromkeys(self._held.get(ident, ())))


class _Guards:
    """What the guards that are on keep per thread, told event by event."""

    def __init__(self) -> None:
        self._on: dict[str, frozenset[str]] = {}
        self.kept: frozenset[str] = frozenset()

    def see(self, event: Event) -> None:
        if event.kind != "guard":
            return
        name = str(event.data.get("guard"))
        if event.data.get("edge") == "on":
            self._on[name] = frozenset(event.data.get("keeps", ()))
        else:
            self._on.pop(name, None)
        self.kept = frozenset().union(*self._on.values())


def _lock_change(event: Event) -> tuple[str | None, bool]:
    edge = event.data.get("edge")
    if event.kind == "region" and event.data.get("region") in HOLDS_COMPILE_LOCK:
        return COMPILE_LOCK, edge == "enter"
    if event.kind == "sync" and event.data.get("what") == "lock":
        return str(event.data.get("key")).removeprefix(LOCK_KEY), edge == "acquire"
    return None, False


def _region(event: Event, position: int, depth: int, locks: tuple[str, ...]) -> Region:
    return Region(
        kind=str(event.data.get("region")),
        name=str(event.data.get("name")),
        thread=event.thread,
        ident=event.ident,
        entered=position,
        entered_s=event.at_s,
        depth=depth,
        locks=locks,
        stack=frames_of(event.data.get("frames", ())),
    )
