"""A program under one strategy after the other: what was tried, what was found, what is proved.

The default portfolio: both serial orders (the reference, which must be the same twice), every
schedule up to the bound if there are few enough, and else a mixture of random, PCT and sticky
until nothing new comes. Every so often a schedule is played twice: if it goes another way the
second time, the program is not deterministic, and no absence is claimed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from fxrace.probe.explore import strategies
from fxrace.probe.explore.cause import Cause, Same, cause_of, equal, joined
from fxrace.probe.explore.choices import Chooser, Fixed, InOrder
from fxrace.probe.explore.coverage import Coverage
from fxrace.probe.explore.played import Ended, Played, Step
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.strategies import Search, Setting
from fxrace.probe.explore.strategies.exhaustive import count

FEW = 500
REPLAYED = 25
#: Of ten schedules of the mixture.
MIXTURE = ("random",) * 7 + ("pct",) * 2 + ("sticky",)

Play = Callable[[Program, Chooser], Played]
Heard = Callable[[Played, Cause | None], None]
Enough = Callable[[tuple[Cause, ...]], bool]
"""Asked after every schedule that differed, with all causes so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """When to stop that is not the strategy's own end."""

    schedules: int = 1000
    seconds: float = 60.0
    bound: int = 2
    seed: int = 0


@dataclass(kw_only=True)
class Exploration:
    """What became of it. ``exhausted`` with no slip and no ``unsteady`` is a proof to the bound."""

    strategy: str = ""
    bound: int = 0
    reference: tuple[Ended, ...] = ()
    points: tuple[int, ...] = ()
    schedules: int = 0
    exhausted: bool = False
    slips: int = 0
    unsteady: list[str] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    found: list[tuple[Cause, Played]] = field(default_factory=list)
    stopped_by: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        return joined(cause for cause, _ in self.found)

    @property
    def proves_absence(self) -> bool:
        """No failure in all schedules with at most ``bound`` preemptions."""
        return self.exhausted and not (self.found or self.slips or self.unsteady)

    def simplest(self, fingerprint: str) -> Played:
        """The schedule of this cause with the fewest preemptions, then steps."""
        of_it = [played for cause, played in self.found if cause.fingerprint == fingerprint]
        return min(of_it, key=lambda played: (played.preemptions, len(played.steps)))


def points_of(played: Played) -> tuple[int, ...]:
    """How many points each thread came to."""
    numbers = range(len(played.names))
    return tuple(sum(s.current == n and s.at != "end" for s in played.steps) for n in numbers)


def begin(program: Program, play: Play, same: Same = equal) -> tuple[Program, Exploration]:
    """The reference: each thread first, twice. Threads without regions count as a whole."""
    told = Exploration()
    order = tuple(range(len(program.names)))
    first = play(program, InOrder(order))
    program = stopped_everywhere(program, first)
    runs = [play(program, InOrder(order)), play(program, InOrder(order[::-1]))]
    told.reference, told.points = runs[0].ended, points_of(runs[0])
    for number, (one, other) in enumerate(zip(runs[0].ended, runs[1].ended, strict=True)):
        alike = same(one.result, other.result) and one.returned == other.returned
        if not alike:
            told.unsteady.append(f"{program.names[number]} alone ended in two ways")
    return program, told


def stopped_everywhere(program: Program, played: Played) -> Program:
    """The same; threads that open no region in ``played`` have a point at each of torch's calls.

    Without that most of torch's operations could be stopped nowhere but at their beginning.
    """
    without = {n for n in range(len(played.names)) if not _opens(played, n)}
    return replace(program, everywhere=frozenset(without)) if without else program


def explore(
    program: Program,
    play: Play,
    *,
    strategy: str | None = None,
    budget: Budget | None = None,
    same: Same = equal,
    heard: Heard | None = None,
    enough: Enough | None = None,
) -> Exploration:
    """Play schedules until there are none left, none new, no budget, or ``enough`` was found."""
    budget = budget or Budget()
    program, told = begin(program, play, same)
    setting = Setting(points=told.points, seed=budget.seed, bound=budget.bound)
    told.strategy = strategy or _portfolio(setting)
    told.bound = budget.bound
    until = time.monotonic() + budget.seconds
    for search, chooser in _proposals(told.strategy, setting):
        if chooser is None:
            told.exhausted, told.stopped_by = True, "exhausted"
            break
        played = play(program, chooser)
        cause = _take_in(told, search, played, same)
        if heard is not None:
            heard(played, cause)
        if told.schedules % REPLAYED == 0:
            _play_again(told, program, play, played)
        told.stopped_by = _enough(told, budget, until, search_ends(told.strategy))
        if cause is not None and enough is not None and enough(told.causes):
            told.stopped_by = "found"
        if told.stopped_by:
            break
    return told


def search_ends(name: str) -> bool:
    return name != "portfolio" and strategies.load(name).ends


def _portfolio(setting: Setting) -> str:
    few = count(setting.points, setting.bound) <= FEW
    return "exhaustive" if few else "portfolio"


def _proposals(name: str, setting: Setting) -> Iterator[tuple[Search, Chooser | None]]:
    if name != "portfolio":
        search = strategies.load(name).begin(setting)
        while True:
            yield search, search.propose()
    searches = {one: strategies.load(one).begin(setting) for one in dict.fromkeys(MIXTURE)}
    for one in itertools.cycle(MIXTURE):
        yield searches[one], searches[one].propose()


def _take_in(told: Exploration, search: Search, played: Played, same: Same) -> Cause | None:
    told.schedules += 1
    told.slips += len(played.slips)
    told.coverage.add(played)
    changed = search.learn(played.steps)
    if changed or played.drift:
        told.unsteady.append(changed or played.drift)
    cause = cause_of(played, told.reference, same)
    if cause is not None:
        told.found.append((cause, played))
    return cause


def _play_again(told: Exploration, program: Program, play: Play, before: Played) -> None:
    again = play(program, Fixed(before.choices))
    step = first_difference(before.steps, again.steps)
    if step is not None and not before.slips:
        told.unsteady.append(f"played again, {step}")


def first_difference(before: tuple[Step, ...], now: tuple[Step, ...]) -> str | None:
    """``step 7: A at trace:exit#1 before, ...``: the first step that is not as it was."""
    for number, (one, other) in enumerate(itertools.zip_longest(before, now)):
        if one != other:
            return f"step {number}: {_told(one)} before, {_told(other)} now"
    return None


def _told(step: Step | None) -> str:
    if step is None:
        return "no such step"
    return f"{step.current} at {step.at}, {step.chosen} of {step.runnable}"


def _enough(told: Exploration, budget: Budget, until: float, ends: bool) -> str:  # noqa: FBT001
    if told.schedules >= budget.schedules:
        return "schedules"
    if time.monotonic() > until:
        return "time"
    if not ends and told.coverage.is_saturated:
        return "saturated"
    return ""


def _opens(played: Played, number: int) -> bool:
    return any(step.current == number and ":enter#" in step.at for step in played.steps)
