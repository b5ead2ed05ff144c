"""Which events of a Trace are ordered by the program itself, whatever the scheduler does.

Vector clocks over the recorded order, with one FastTrack epoch per event: two integers decide
an order, and a thread's clock moves only where it tells others something. Edges:

- ``sync`` release -> every later acquire of the same key;
- a ``compile`` region's end -> the next one's beginning: ``compile_lock`` covers each whole one;
- ``lock`` wait -> got: whoever owned the lock when the wait began had it *then*, so what it had
  done up to there is before the got. What it did afterwards may have been done after it let go:
  when it let go is not in a ``lock`` event, so nothing later is ordered by it.

The interpreter lock is no edge. A missing edge can only make ordered events look unordered,
which is why ``told`` names the threads whose locks are on record: those that took one by a
``sync`` of what "lock". The plain locks of a program that nobody watches order its threads too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fxrace.core.timeline import COMPILE_LOCK, HOLDS_COMPILE_LOCK, LOCK_KEY
from fxrace.records.event import Event, Trace

Clock = Mapping[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Clocks:
    """Answers "is event i before event j" for positions in one Trace."""

    idents: tuple[int, ...]
    clocks: tuple[Clock, ...]
    told: frozenset[int]

    def before(self, early: int, late: int) -> bool:
        """True when ``early`` happens before ``late``; ``early`` must be recorded first."""
        ident = self.idents[early]
        if ident == self.idents[late]:
            return early < late
        return self.clocks[early][ident] <= self.clocks[late].get(ident, 0)


def clocks_of(trace: Trace) -> Clocks:
    """One pass over the Trace: joins at acquires, ticks at releases."""
    moving = _Moving()
    clocks = tuple(moving.see(event) for event in trace.events)
    return Clocks(
        idents=tuple(event.ident for event in trace.events),
        clocks=clocks,
        told=frozenset(e.ident for e in trace.of("sync") if e.data.get("what") == "lock"),
    )


@dataclass(slots=True)
class _Moving:
    """The clocks while the pass goes on. A Clock is replaced when it changes, never altered."""

    threads: dict[int, Clock] = field(default_factory=dict)
    keys: dict[str, Clock] = field(default_factory=dict)
    waits: dict[int, Clock] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def see(self, event: Event) -> Clock:
        """The clock of the event: after what it acquires, before what it releases."""
        ident = event.ident
        self.names[event.thread] = ident
        if key := _acquired(event):
            self._join(ident, self.keys.get(key, {}))
        edge = event.data.get("edge") if event.kind == "lock" else None
        if edge == "got":
            self._join(ident, self.waits.pop(ident, {}))
        clock = self._clock(ident)
        if key := _released(event):
            self.keys[key] = _joined(self.keys.get(key, {}), clock)
            self._tick(ident)
        owner = self.names.get(str(event.data.get("owner"))) if edge == "wait" else None
        if owner is not None:
            self.waits[ident] = self._clock(owner)
            self._tick(owner)
        return clock

    def _clock(self, ident: int) -> Clock:
        return self.threads.setdefault(ident, {ident: 1})

    def _join(self, ident: int, other: Clock) -> None:
        self.threads[ident] = _joined(self._clock(ident), other)

    def _tick(self, ident: int) -> None:
        clock = self._clock(ident)
        self.threads[ident] = {**clock, ident: clock[ident] + 1}


def _joined(one: Clock, other: Clock) -> Clock:
    new = dict(one)
    for ident, time in other.items():
        if time > new.get(ident, 0):
            new[ident] = time
    return new


def _acquired(event: Event) -> str | None:
    return _key(event, sync="acquire", region="enter")


def _released(event: Event) -> str | None:
    return _key(event, sync="release", region="exit")


def _key(event: Event, *, sync: str, region: str) -> str | None:
    edge = event.data.get("edge")
    if event.kind == "sync" and edge == sync:
        return str(event.data.get("key"))
    if event.kind == "region" and edge == region:
        return LOCK_KEY + COMPILE_LOCK if event.data.get("region") in HOLDS_COMPILE_LOCK else None
    return None
