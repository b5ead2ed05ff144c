"""The least that still shows the same cause: fewer switches, fewer threads, less work.

A schedule is a set of stops, and any subset of it is a schedule. First delta debugging over the
stops (after which none can be left out), then threads, then smaller programs. *Same* means the
same fingerprint, never the same text; each step that is kept has shown it twice. Last, each
stop is moved until the outcome changes: between two neighbouring points lies the event whose
order decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fxrace.probe.explore.choices import Chooser, Stop, Stops
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Body, Program

SHOWN = 2
Shows = Callable[[Program, Chooser], bool]
"""True where this schedule of this program shows the cause that is minimised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Minimal:
    """What is left, and how many schedules it took."""

    program: Program
    start: int
    stops: tuple[Stop, ...]
    tried: int

    def chooser(self) -> Chooser:
        return Stops(self.start, self.stops)


@dataclass(frozen=True, kw_only=True, slots=True)
class Swap:
    """Where the outcome turns: stopped at ``passes`` nothing happens, at ``fails`` it does.

    They are neighbouring points of ``thread``: what it does between them, and what ``other`` does
    while it stands, are the two events whose order decides. ``passes`` is ``""`` for not stopping
    at all (before its first point, or after its last).
    """

    thread: int
    other: int
    passes: str
    fails: str
    later: bool
    """True where the turn is after the stop: it must stop before it comes to ``passes``."""


def stops_of(played: Played) -> tuple[int, tuple[Stop, ...]]:
    """A schedule as its start and the places where it did not do what staying would have."""
    start = played.steps[0].chosen if played.steps else 0
    found = []
    for step in played.steps[1:]:
        usual = step.current if step.current in step.runnable else step.runnable[0]
        if step.current is not None and step.chosen != usual:
            found.append(Stop(step.current, step.at, step.chosen))
    return start, tuple(found)


class Minimiser:
    """Counts what it tries, and gives up quietly after ``most`` schedules."""

    def __init__(self, shows: Shows, *, most: int = 400) -> None:
        self._shows, self._most = shows, most
        self.tried = 0

    def minimise(
        self,
        program: Program,
        played: Played,
        smaller: Sequence[Program] = (),
    ) -> Minimal:
        """Of a schedule that shows it. What comes back has been seen to show it, twice."""
        start, stops = stops_of(played)
        stops = self._fewer_stops(program, start, stops)
        program, start, stops = self._fewer_threads(program, start, stops)
        for one in smaller:
            if self._holds(one, start, stops):
                program = one
        return Minimal(program=program, start=start, stops=stops, tried=self.tried)

    def swaps(self, minimal: Minimal, points: Sequence[Sequence[str]]) -> tuple[Swap, ...]:
        """For each stop, the turn before it and the turn after it.

        ``points[thread]`` are the points of each thread in the order it comes to them.
        """
        found: list[Swap] = []
        for stop in minimal.stops:
            names = list(points[stop.thread])
            if stop.at in names:
                at = names.index(stop.at)
                found.append(self._turn(minimal, stop, names, at, later=False))
                found.append(self._turn(minimal, stop, names, at, later=True))
        return tuple(found)

    def _holds(self, program: Program, start: int, stops: Iterable[Stop]) -> bool:
        chooser = tuple(stops)
        for _ in range(SHOWN):
            if self.tried >= self._most:
                return False
            self.tried += 1
            if not self._shows(program, Stops(start, chooser)):
                return False
        return True

    def _fewer_stops(
        self, program: Program, start: int, stops: tuple[Stop, ...]
    ) -> tuple[Stop, ...]:
        """Delta debugging: leave out halves, quarters, ... and at last single stops."""
        parts = 2
        while len(stops) >= 1:
            size = max(1, len(stops) // parts)
            rest = next(
                (
                    left
                    for i in range(0, len(stops), size)
                    if self._holds(program, start, left := stops[:i] + stops[i + size :])
                ),
                None,
            )
            if rest is not None:
                stops, parts = rest, max(parts - 1, 2)
            elif size == 1:
                break
            else:
                parts = min(len(stops), parts * 2)
        return stops

    def _fewer_threads(
        self, program: Program, start: int, stops: tuple[Stop, ...]
    ) -> tuple[Program, int, tuple[Stop, ...]]:
        gone = len(program.names) - 1
        while gone >= 0 and len(program.names) > 2:
            fewer = without(program, gone)
            for heir in range(len(fewer.names)):
                first, left = _inherited(start, stops, gone, heir)
                if self._holds(fewer, first, left):
                    program, start = fewer, first
                    stops = self._fewer_stops(program, start, left)
                    break
            gone -= 1
        return program, start, stops

    def _turn(
        self, minimal: Minimal, stop: Stop, names: list[str], at: int, *, later: bool
    ) -> Swap:
        """Halve between a place that shows it and one that does not (or none at all)."""
        shows, not_ = at, len(names) if later else -1
        while abs(shows - not_) > 1:
            middle = (shows + not_) // 2
            moved = tuple(replace(s, at=names[middle]) if s == stop else s for s in minimal.stops)
            if self._holds(minimal.program, minimal.start, moved):
                shows = middle
            else:
                not_ = middle
        inside = 0 <= not_ < len(names)
        return Swap(
            thread=stop.thread,
            other=stop.to,
            passes=names[not_] if inside else "",
            fails=names[shows],
            later=later,
        )


def _inherited(
    start: int, stops: tuple[Stop, ...], gone: int, heir: int
) -> tuple[int, tuple[Stop, ...]]:
    """The schedule without one thread, whose turns go to another (in the new numbers)."""

    def number(thread: int) -> int:
        return heir if thread == gone else thread - (thread > gone)

    kept = [Stop(number(s.thread), s.at, number(s.to)) for s in stops if s.thread != gone]
    return number(start), tuple(s for s in kept if s.thread != s.to)


def without(program: Program, number: int) -> Program:
    """The same program with a thread less. The subjects of all are still prepared."""

    def prepare() -> list[Body]:
        bodies = list(program.prepare())
        del bodies[number]
        return bodies

    names = tuple(name for n, name in enumerate(program.names) if n != number)
    everywhere = frozenset(n - (n > number) for n in program.everywhere if n != number)
    return replace(program, prepare=prepare, names=names, everywhere=everywhere)


def points_by_thread(played: Played) -> tuple[tuple[str, ...], ...]:
    """The points of each thread in order, from a schedule (best a serial one)."""
    numbers = range(len(played.names))
    return tuple(
        tuple(s.at for s in played.steps if s.current == n and s.at != "end") for n in numbers
    )
